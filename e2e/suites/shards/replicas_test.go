// SPDX-License-Identifier: Apache-2.0

package shards

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"kumodo.io/convoy/e2e/framework/installation"
	"kumodo.io/convoy/e2e/framework/process"
	"kumodo.io/convoy/e2e/suites/scenario"
)

// replica is a process of a component, and where its metrics are.
type replica struct {
	*process.Process
	metrics string
}

// first is the replica that the installation runs.
func first(name string) replica {
	return replica{suite.Environment.Convoy.Process(name), suite.Environment.Convoy.MetricsURL(name)}
}

// second starts another one.
func second(ctx context.Context, name string) replica {
	GinkgoHelper()
	kubeconfig, err := suite.Host.ServiceAccountKubeconfig(ctx, installation.Namespace, name)
	Expect(err).NotTo(HaveOccurred())
	ports, err := process.FreePorts(2)
	Expect(err).NotTo(HaveOccurred())
	address := "127.0.0.1:" + strconv.Itoa(ports[0])
	args := append([]string{"--kubeconfig=" + kubeconfig, "--metrics-addr=" + address}, flags...)
	if name == installation.Observer {
		args = append(args, "--serve-addr=127.0.0.1:"+strconv.Itoa(ports[1]))
	}
	started, err := process.Start(ctx, process.Command{
		Name: name + "-2", Path: filepath.Join(suite.Bin, name), Dir: suite.Dir, Args: args,
		Ready: process.HTTPReady(nil, "http://"+address+"/readyz"), ReadyTimeout: scenario.Timeout,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		if started.Running() {
			Expect(started.Stop(ctx)).To(Succeed())
		}
	}, NodeTimeout(time.Minute))
	return replica{started, "http://" + address + "/metrics"}
}

// cached gives how many shards, and how many objects of each kind, a replica has in memory.
func (r replica) cached(ctx context.Context) (map[string]int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.metrics, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	found := map[string]int{}
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		var name string
		switch line := lines.Text(); {
		case strings.HasPrefix(line, "convoy_shards_cached{"):
			name = "shards"
		case strings.HasPrefix(line, "convoy_shard_objects_cached{"):
			_, after, _ := strings.Cut(line, `kind="`)
			name, _, _ = strings.Cut(after, `"`)
		default:
			continue
		}
		value, err := strconv.ParseFloat(lines.Text()[strings.LastIndex(lines.Text(), " ")+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", lines.Text(), err)
		}
		found[name] = int(value)
	}
	return found, nil
}

// caches asks what replicas have in memory, one after the other.
func caches(ctx context.Context, replicas ...replica) func() ([]map[string]int, error) {
	return func() ([]map[string]int, error) {
		var all []map[string]int
		for _, r := range replicas {
			one, err := r.cached(ctx)
			if err != nil {
				return nil, err
			}
			all = append(all, one)
		}
		return all, nil
	}
}
