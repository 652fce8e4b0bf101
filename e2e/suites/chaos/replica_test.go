// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"kumodo.io/convoy/e2e/framework/installation"
	"kumodo.io/convoy/e2e/framework/process"
)

// replica is a process of a controller that is ended and started anew again and again. Each of
// its lives has an address.
type replica struct {
	component string
	number    int
	process   *process.Process
	proxy     *proxy
	ready     func(context.Context) error

	mu       sync.Mutex
	lives    int
	absences []absence
}

// absence is what was done to a replica, and until when.
type absence struct {
	action   action
	from, to time.Time
}

// networks of the addresses of the controllers' replicas.
var networks = map[string]byte{installation.ControllerManager: 10, installation.Observer: 20}

func (r *replica) String() string { return fmt.Sprintf("%s %d", r.component, r.number) }

// address is that of the present life: 127.<controller>.<replica>.<life>.
func (r *replica) address() net.IP {
	return net.IPv4(127, networks[r.component], byte(r.number), byte(r.lives))
}

// replicaOf gives the replica, and which of its lives, that an address belongs to.
func (r *rig) replicaOf(address string) (found *replica, life int, ok bool) {
	ip := net.ParseIP(address).To4()
	if ip == nil {
		return nil, 0, false
	}
	for _, one := range r.replicas {
		if ip[1] == networks[one.component] && ip[2] == byte(one.number) {
			return one, int(ip[3]), true
		}
	}
	return nil, 0, false
}

// newReplica starts a replica.
func (r *rig) newReplica(ctx context.Context, component string, number int) (*replica, error) {
	ports, err := process.FreePorts(2)
	if err != nil {
		return nil, err
	}
	metrics := fmt.Sprintf("127.0.0.1:%d", ports[0])
	one := &replica{component: component, number: number, proxy: newProxy(), ready: process.HTTPReady(http.DefaultClient, "http://"+metrics+"/readyz")}
	args := []string{"--kubeconfig=" + r.kubeconfigs[component], "--metrics-addr=" + metrics, fmt.Sprintf("--shards=%d", r.form.shards)}
	if component == installation.Observer {
		args = append(args, fmt.Sprintf("--serve-addr=127.0.0.1:%d", ports[1]))
	}
	if r.plan.scoped {
		args = append(args, "--shard-scoped-cache")
	}
	one.begin()
	one.process, err = process.Start(ctx, process.Command{
		Name: fmt.Sprintf("%s-%d", component, number), Path: filepath.Join(r.bin, component), Dir: filepath.Join(r.dir, "replicas"), Args: args,
		Env:   []string{"HTTPS_PROXY=" + one.proxy.URL, "https_proxy=" + one.proxy.URL, "NO_PROXY=", "no_proxy="},
		Grace: 30 * time.Second,
	})
	return one, err
}

// begin makes another life of what is started next.
func (r *replica) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lives++
	r.proxy.sendFrom(r.address())
}

// suffer has a disturbance happen, and returns when it is over.
func (r *replica) suffer(ctx context.Context, d disturbance) error {
	if err := r.process.Err(); err != nil {
		return err // before anybody ends it
	}
	from := time.Now()
	fmt.Fprintf(GinkgoWriter, "%s %s: %s for %s\n", clock(from), r, d.action, d.away.Round(time.Millisecond))
	var err error
	switch d.action {
	case pause:
		err = syscall.Kill(r.process.PID(), syscall.SIGSTOP)
	case kill:
		err = r.process.Kill()
	case restart:
		err = r.process.Stop(ctx)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r, err)
	}
	wait(ctx, d.away)
	if d.action == pause {
		err = syscall.Kill(r.process.PID(), syscall.SIGCONT)
	} else {
		r.begin()
		err = r.process.Restart(context.WithoutCancel(ctx))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.absences = append(r.absences, absence{d.action, from, time.Now()})
	return err
}

// suffered tells what was done to the replica around a moment.
func (r *replica) suffered(moment time.Time) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var texts []string
	for _, a := range r.absences {
		if moment.After(a.from.Add(-time.Minute)) && moment.Before(a.to.Add(time.Minute)) {
			texts = append(texts, fmt.Sprintf("%s from %s to %s", a.action, clock(a.from), clock(a.to)))
		}
	}
	if len(texts) == 0 {
		return "nothing had been done to it"
	}
	return "it was " + strings.Join(texts, ", ")
}

// stop ends a replica, in whatever state it is.
func (r *replica) stop(ctx context.Context) error {
	_ = syscall.Kill(r.process.PID(), syscall.SIGCONT)
	err := r.process.Err()
	err = errors.Join(err, r.process.Stop(ctx))
	r.proxy.Close()
	return err
}

// wait waits for a while, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05.000000") }
