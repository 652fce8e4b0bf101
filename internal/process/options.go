// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kumodo.io/convoy/client/clientset/versioned"
	"kumodo.io/convoy/internal/scoped"
	"kumodo.io/convoy/internal/shard"
)

// Options are the flags of every controller process.
type Options struct {
	// Kubeconfig of the host cluster; empty: the pod's own service account.
	Kubeconfig string
	// QPS and Burst limit requests to the host cluster; 0 QPS: no limit but the server's.
	QPS   float32
	Burst int
	// Namespace in which convoy is installed, where its Leases are.
	Namespace string
	// Installation names this installation; empty: the host cluster's UID.
	Installation string
	// Shards is the number of shards, the same in all of convoy's processes.
	Shards int
	// ShardScopedCache caches Releases, inventories and Clusters of owned shards only.
	ShardScopedCache bool
	// Resync is how often each object is looked at although nothing changed.
	Resync time.Duration
	// Workers is how many objects of a kind are worked on at once.
	Workers int
	// MetricsAddr is where metrics and probes are served.
	MetricsAddr string
	// DebugSocketPath is the unix-domain socket at which profiles are served; empty: none.
	DebugSocketPath string
	// GracePeriod bounds the end of the process.
	GracePeriod time.Duration
}

// NewOptions returns the defaults.
func NewOptions() *Options {
	return &Options{
		Namespace:   shard.DefaultNamespace,
		Shards:      1,
		Resync:      2 * time.Minute,
		Workers:     16,
		MetricsAddr: ":8081",
		GracePeriod: 30 * time.Second,
	}
}

// AddFlags adds the flags to fs.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig, "Kubeconfig of the host cluster. Empty: the service account of the pod.")
	fs.Float32Var(&o.QPS, "kube-api-qps", o.QPS, "Requests per second to the host cluster. 0: no limit on this side, the server's priority and fairness is the limit.")
	fs.IntVar(&o.Burst, "kube-api-burst", o.Burst, "How many requests to the host cluster may exceed --kube-api-qps for a moment. 0: twice that.")
	fs.StringVar(&o.Namespace, "namespace", o.Namespace, "Namespace in which convoy is installed; its Leases are there.")
	fs.StringVar(&o.Installation, "installation", o.Installation, "Name of this installation in the marks on applied objects, the same in all of convoy's processes. Empty: the UID of the host's namespace kube-system.")
	fs.IntVar(&o.Shards, "shards", o.Shards, "Number of shards, the same in all of convoy's processes.")
	fs.BoolVar(&o.ShardScopedCache, "shard-scoped-cache", o.ShardScopedCache, "Hold Releases, ReleaseInventories and Clusters of the shards that are worked on in memory, and no others.")
	fs.DurationVar(&o.Resync, "resync", o.Resync, "How often each object is looked at although nothing changed.")
	fs.IntVar(&o.Workers, "workers", o.Workers, "How many objects of a kind are worked on at once.")
	fs.StringVar(&o.MetricsAddr, "metrics-addr", o.MetricsAddr, "Address at which /metrics, /livez and /readyz are served.")
	fs.StringVar(&o.DebugSocketPath, "debug-socket-path", o.DebugSocketPath, "Unix-domain socket at which profiles are served under /debug/pprof/ to whoever may open it, which is the user of the process. Empty: none are.")
	fs.DurationVar(&o.GracePeriod, "grace-period", o.GracePeriod, "How long work under way may take to end when the process is told to stop.")
}

// Validate returns what is wrong with the options, all at once.
func (o *Options) Validate() []error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(o.Shards >= 1, "--shards: %d is not 1 or more", o.Shards)
	check(o.Workers >= 1, "--workers: %d is not 1 or more", o.Workers)
	check(o.Resync >= time.Second, "--resync: %s is less than 1s", o.Resync)
	check(o.GracePeriod > 0, "--grace-period: %s is not above 0", o.GracePeriod)
	check(o.QPS >= 0, "--kube-api-qps: %g is below 0", o.QPS)
	check(o.Burst >= 0, "--kube-api-burst: %d is below 0", o.Burst)
	check(o.Namespace != "", "--namespace: must not be empty")
	check(!strings.Contains(o.Installation, "/"), "--installation: %q must not contain a slash", o.Installation)
	return errs
}

// RESTConfig returns how the host cluster is reached, for clients that speak JSON, which
// is all that convoy's own kinds speak. component names the process to the server.
func (o *Options) RESTConfig(component string) (*rest.Config, error) {
	config, err := o.loadConfig()
	if err != nil {
		return nil, fmt.Errorf("host cluster: %w", err)
	}
	config.UserAgent = component + "/" + Version
	config.QPS, config.Burst = o.QPS, o.Burst
	switch {
	case o.QPS == 0:
		config.QPS = -1
	case o.Burst == 0:
		config.Burst = max(1, int(2*o.QPS))
	}
	return config, nil
}

func (o *Options) loadConfig() (*rest.Config, error) {
	if o.Kubeconfig == "" {
		return rest.InClusterConfig()
	}
	return clientcmd.BuildConfigFromFlags("", o.Kubeconfig)
}

// BuiltIn returns config for clients of built-in kinds, which speak protobuf.
func BuiltIn(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	return config
}

// Labels gives what is to be waited for before caches are filled by shard labels: that these are
// those of the present number of shards. Without --shard-scoped-cache it is nothing.
func (o *Options) Labels(host *rest.Config, convoy versioned.Interface) (await func(context.Context) error, err error) {
	if !o.ShardScopedCache {
		return func(context.Context) error { return nil }, nil
	}
	client, err := metadata.NewForConfig(host)
	if err != nil {
		return nil, fmt.Errorf("metadata client of the host cluster: %w", err)
	}
	return scoped.Labels{Client: convoy, Metadata: client, Shards: o.Shards}.Await, nil
}

// Identity is a name for this process that no other one has: in a pod the pod's own.
func Identity() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "convoy"
	}
	host = strings.Trim(strings.ToLower(strings.ReplaceAll(host, ".", "-")), "-")
	if len(host) > 30 {
		host = strings.TrimRight(host[:30], "-")
	}
	return host + "-" + string(uuid.NewUUID())[:8]
}
