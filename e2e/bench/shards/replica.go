// SPDX-License-Identifier: Apache-2.0

package shards

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kumodo.io/convoy/e2e/bench/meter"
	"kumodo.io/convoy/e2e/bench/stand"
	"kumodo.io/convoy/e2e/framework/installation"
	"kumodo.io/convoy/e2e/framework/poll"
	"kumodo.io/convoy/e2e/framework/process"
)

// leaseNames are the names of the controllers in Leases.
var leaseNames = map[string]string{installation.ControllerManager: "convoy-cm", installation.Observer: "convoy-obs"}

// controllers are those that are replicated.
var controllers = slices.Sorted(maps.Keys(leaseNames))

// replica is a process of a controller.
type replica struct {
	*process.Process
	controller string
	identity   string // in Leases
	socket     string
	metrics    string
}

// grow starts replicas until there are so many of each controller, and returns when all have
// their share.
func (t *trial) grow(ctx context.Context, count int) error {
	for _, controller := range controllers {
		for len(t.replicas[controller]) < count {
			one, err := t.start(ctx, controller, len(t.replicas[controller])+1)
			if err != nil {
				return err
			}
			t.replicas[controller] = append(t.replicas[controller], one)
		}
	}
	return t.shared(ctx)
}

// start starts a replica.
func (t *trial) start(ctx context.Context, controller string, number int) (*replica, error) {
	kubeconfig, err := t.stand.Host.ServiceAccountKubeconfig(ctx, installation.Namespace, controller)
	if err != nil {
		return nil, err
	}
	ports, err := process.FreePorts(2)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("%s-%d", controller, number)
	one := &replica{controller: controller, socket: filepath.Join(t.settings.Dir, name+".sock"), metrics: fmt.Sprintf("http://127.0.0.1:%d/metrics", ports[0])}
	args := []string{"--kubeconfig=" + kubeconfig, fmt.Sprintf("--metrics-addr=127.0.0.1:%d", ports[0]), "--debug-socket-path=" + one.socket,
		fmt.Sprintf("--shards=%d", shards), "--shard-scoped-cache"}
	if controller == installation.Observer {
		args = append(args, fmt.Sprintf("--serve-addr=127.0.0.1:%d", ports[1]))
	}
	return one, t.introduced(ctx, one, func() error {
		one.Process, err = process.Start(ctx, process.Command{
			Name: name, Path: filepath.Join(t.stand.Bin, controller), Dir: filepath.Join(t.settings.Dir, "replicas"), Args: args,
			Grace: 20 * time.Second, Ready: process.HTTPReady(nil, strings.TrimSuffix(one.metrics, "/metrics")+"/readyz"), ReadyTimeout: waitTimeout,
		})
		return err
	})
}

// introduced has a replica start, and learns by which name others know it: that of the
// membership that is new.
func (t *trial) introduced(ctx context.Context, one *replica, start func() error) error {
	prefix := leaseNames[one.controller] + "-member-"
	members := func() (map[string]bool, error) {
		leases, err := t.leases(ctx)
		found := map[string]bool{}
		for name := range leases {
			if identity, is := strings.CutPrefix(name, prefix); is {
				found[identity] = true
			}
		}
		return found, err
	}
	before, err := members()
	if err != nil {
		return err
	}
	if err := start(); err != nil {
		return err
	}
	after, err := members()
	if err != nil {
		return err
	}
	for identity := range after {
		if !before[identity] {
			one.identity = identity
			return nil
		}
	}
	return fmt.Errorf("%s is not known to the others", one.Name())
}

// restart starts a replica again that was killed.
func (t *trial) restart(ctx context.Context, one *replica) error {
	return t.introduced(ctx, one, func() error { return one.Restart(ctx) })
}

// leases gives the Leases of convoy, by name.
func (t *trial) leases(ctx context.Context) (map[string]coordinationv1.Lease, error) {
	list, err := t.host.CoordinationV1().Leases(installation.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	found := map[string]coordinationv1.Lease{}
	for _, lease := range list.Items {
		found[lease.Name] = lease
	}
	return found, nil
}

// holders gives who holds each shard of a controller, "" where nobody does.
func (t *trial) holders(ctx context.Context, controller string) ([]string, error) {
	leases, err := t.leases(ctx)
	holders := make([]string, shards)
	for shard := range holders {
		if holder := leases[fmt.Sprintf("%s-%d", leaseNames[controller], shard)].Spec.HolderIdentity; holder != nil {
			holders[shard] = *holder
		}
	}
	return holders, err
}

// shared returns when every replica holds its share.
func (t *trial) shared(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	return poll.Until(ctx, 50*time.Millisecond, func(ctx context.Context) error {
		for _, controller := range controllers {
			holders, err := t.holders(ctx, controller)
			if err != nil {
				return err
			}
			for _, one := range t.replicas[controller] {
				if held := len(indexes(holders, one.identity)); held != shards/len(t.replicas[controller]) {
					return fmt.Errorf("%s holds %d shards", one.Name(), held)
				}
			}
		}
		return nil
	})
}

// indexes are the shards that somebody holds.
func indexes(holders []string, identity string) (found []int) {
	for shard, holder := range holders {
		if holder == identity {
			found = append(found, shard)
		}
	}
	return found
}

// quiet waits until no replica has anything in its queues, for so many looks in a row.
func (t *trial) quiet(ctx context.Context) error {
	const looks = 5
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	calm := 0
	return poll.Until(ctx, time.Second, func(ctx context.Context) error {
		waiting := 0.0
		for _, controller := range controllers {
			for _, one := range t.replicas[controller] {
				values, err := meter.Scrape(ctx, http.DefaultClient, one.metrics, []meter.Counter{{Metric: "convoy_controller_queue_depth"}})
				if err != nil {
					return err
				}
				waiting += values[0]
			}
		}
		if calm++; waiting > 0 {
			calm = 0
		}
		if calm < looks {
			return fmt.Errorf("%.0f keys wait", waiting)
		}
		return nil
	})
}

// memory is what a replica holds, in bytes: pages of its own, and what is in use of its heap.
type memory struct{ own, live float64 }

func (r *replica) memory(ctx context.Context) (memory, error) {
	usage, err := meter.ReadUsage(r.PID())
	if err != nil {
		return memory{}, err
	}
	live, err := stand.LiveHeapOf(ctx, r.Name(), r.socket, r.metrics)
	return memory{float64(usage.Own), float64(live)}, err
}
