// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"kumodo.io/convoy/e2e/framework/build"
	"kumodo.io/convoy/e2e/framework/installation"
)

var processes = []string{installation.APIServer, installation.ControllerManager, installation.Observer}

// scrapes are answers of /metrics in a folder, as tools/monitoring reads them.
type scrapes struct {
	folder string
	number int
	last   map[string]string // by process
}

func newScrapes() *scrapes {
	return &scrapes{folder: GinkgoT().TempDir()}
}

// take asks processes for their metrics.
func (s *scrapes) take(ctx context.Context, processes ...string) {
	GinkgoHelper()
	s.last = map[string]string{}
	for _, process := range processes {
		s.last[process] = metrics(ctx, process)
		path := filepath.Join(s.folder, fmt.Sprintf("%s.%d.txt", process, s.number))
		Expect(os.WriteFile(path, []byte(s.last[process]), 0o600)).To(Succeed())
	}
	s.number++
}

// metrics asks a process for its metrics; convoy-apiserver tells them to those who may.
func metrics(ctx context.Context, process string) string {
	GinkgoHelper()
	client, url := http.DefaultClient, suite.Convoy.MetricsURL(process)
	if process == installation.APIServer {
		config, err := suite.Host.RESTConfig()
		Expect(err).NotTo(HaveOccurred())
		client, err = rest.HTTPClientFor(config)
		Expect(err).NotTo(HaveOccurred())
		url = suite.Convoy.APIServerURL() + "/metrics"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	Expect(err).NotTo(HaveOccurred())
	response, err := client.Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	Expect(err).NotTo(HaveOccurred())
	Expect(response.StatusCode).To(Equal(http.StatusOK), string(text))
	return string(text)
}

// value sums up the series of the last scrape whose text matches.
func (s *scrapes) value(series string) float64 {
	GinkgoHelper()
	sum := 0.0
	pattern := regexp.MustCompile(`(?m)^` + series + ` (\S+)$`)
	for _, text := range s.last {
		for _, match := range pattern.FindAllStringSubmatch(text, -1) {
			var value float64
			_, err := fmt.Sscan(match[1], &value)
			Expect(err).NotTo(HaveOccurred())
			sum += value
		}
	}
	return sum
}

// names are those of convoy's own metrics in the last scrape.
func (s *scrapes) names() []string {
	var names []string
	for _, text := range s.last {
		for _, match := range regexp.MustCompile(`(?m)^# TYPE (convoy_\S+)`).FindAllStringSubmatch(text, -1) {
			names = append(names, match[1])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// report is what tools/monitoring finds.
type report struct {
	Problems []string
	Firing   map[string][]string
	Alerts   int
	Panels   int
}

func (r report) alerts() []string {
	var names []string
	for name := range r.Firing {
		names = append(names, name)
	}
	return names
}

// judge holds config/monitoring against the scrapes.
func (s *scrapes) judge(ctx context.Context) report {
	GinkgoHelper()
	root, err := build.Root()
	Expect(err).NotTo(HaveOccurred())
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", "run", ".", "-config", filepath.Join(root, "config/monitoring"), "-scrapes", s.folder)
	cmd.Dir = filepath.Join(root, "tools/monitoring")
	cmd.Env = append(os.Environ(), "GOWORK=off")
	cmd.Stdout, cmd.Stderr = &out, &errOut
	Expect(cmd.Run()).To(Succeed(), errOut.String())
	var r report
	Expect(json.Unmarshal(out.Bytes(), &r)).To(Succeed())
	fmt.Fprintln(GinkgoWriter, strings.TrimSpace(out.String()))
	return r
}
