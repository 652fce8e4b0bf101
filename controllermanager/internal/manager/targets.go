// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/controllermanager/internal/apply"
	"kumodo.io/convoy/controllermanager/internal/controller/cluster"
	"kumodo.io/convoy/controllermanager/internal/controller/release"
	"kumodo.io/convoy/fetch"
)

// connector gives the Release controller its connections.
type connector struct{ *clusterconn.Connector }

func (c connector) ConnectRelease(ctx context.Context, target *corev1alpha1.Cluster, r *corev1alpha1.Release) (release.Target, error) {
	connection, err := c.Connector.ConnectRelease(ctx, target, r)
	if err != nil {
		return nil, err
	}
	return connection, nil
}

// fetcher fetches for the Release controller. What it knows of a moving reference from before
// this process last gained shards does not count: another replica may have delivered a newer
// revision since, over which the known one must not come.
type fetcher struct {
	fetch.Fetcher
	gained *atomic.Pointer[time.Time]
}

func (f fetcher) Resolve(ctx context.Context, want fetch.Want) (revision string, checkedAt time.Time, err error) {
	if gained := f.gained.Load(); gained != nil && gained.After(want.Since) {
		want.Since = *gained
	}
	return f.Fetcher.Resolve(ctx, want)
}

// prober asks clusters for the Cluster controller.
type prober struct{ *clusterconn.Connector }

func (p prober) Probe(ctx context.Context, target *corev1alpha1.Cluster) (cluster.Report, error) {
	connection, err := p.Connect(ctx, target)
	if err != nil {
		return cluster.Report{}, err
	}
	report, err := connection.Probe(ctx)
	return cluster.Report{Version: report.Version, Server: connection.Server(), Latency: report.Latency}, err
}

// newApplier gives what makes the applier of a pass.
func newApplier(installation string, concurrency int) release.NewApplier {
	return func(target release.Target, options apply.Options) release.Applier {
		options.Installation, options.Concurrency = installation, concurrency
		return apply.New(target, options)
	}
}

// namespaces tells of namespaces of the host cluster.
type namespaces struct{ client kubernetes.Interface }

func (n namespaces) Terminating(ctx context.Context, name string) (bool, error) {
	namespace, err := n.client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return !namespace.DeletionTimestamp.IsZero(), nil
}
