// SPDX-License-Identifier: Apache-2.0

package scoped

import (
	"context"
	"fmt"
	"regexp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/klog/v2"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned"
	"kumodo.io/convoy/internal/shard"
)

const (
	// labelsPage is how many objects are read at once.
	labelsPage = 500
	// The pauses between looks at labels that are not as they should be.
	firstLook, longestPause = time.Second, 15 * time.Second
)

// Labels looks at the shard labels of the host's objects. Who selects by them must not begin
// before convoy-apiserver has written them for the present number of shards: a Release whose
// inventory, or whose neighbour, has the label of another shard would be taken to have none.
type Labels struct {
	Client   versioned.Interface
	Metadata metadata.Interface
	Shards   int
}

// stale counts objects with the label of another shard, and names the first.
type stale struct {
	count   int
	example string
}

// Await returns when every label is that of the object's shard. The error is that of ctx.
func (l Labels) Await(ctx context.Context) error {
	for pause := firstLook; ; pause = min(2*pause, longestPause) {
		found, err := l.look(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			klog.FromContext(ctx).Info("Shard labels cannot be looked at yet", "err", err)
		case found.count == 0:
			return nil
		default:
			klog.FromContext(ctx).Info("Waiting for convoy-apiserver to label objects anew, which it does when it starts and every ten minutes; its --shards must be the same",
				"shards", l.Shards, "objects", found.count, "such as", found.example)
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// look reads all labels once. Of inventories and Clusters nothing but the metadata is read.
func (l Labels) look(ctx context.Context) (found stale, err error) {
	releases := map[types.NamespacedName]int{}
	options := metav1.ListOptions{Limit: labelsPage}
	for {
		page, err := l.Client.CoreV1alpha1().Releases("").List(ctx, options)
		if err != nil {
			return found, fmt.Errorf("listing Releases: %w", err)
		}
		for i := range page.Items {
			one := &page.Items[i]
			n := shard.Of(shard.ReleaseKey(one.Namespace, one.Spec.ClusterRef.Name), l.Shards)
			releases[types.NamespacedName{Namespace: one.Namespace, Name: one.Name}] = n
			found.see("Release", one, n)
		}
		if options.Continue = page.Continue; options.Continue == "" {
			break
		}
	}
	err = l.each(ctx, "clusters", func(one *metav1.PartialObjectMetadata) {
		found.see("Cluster", one, shard.Of(shard.ClusterKey(one.Namespace, one.Name), l.Shards))
	})
	if err != nil {
		return found, err
	}
	return found, l.each(ctx, "releaseinventories", func(one *metav1.PartialObjectMetadata) {
		name := types.NamespacedName{Namespace: one.Namespace, Name: one.Name}
		n, ok := releases[name]
		if page := furtherPage.FindStringSubmatch(one.Name); !ok && page != nil {
			name.Name = page[1]
			n, ok = releases[name]
		}
		if ok { // that of a Release that is gone keeps its label
			found.see("ReleaseInventory", one, n)
		}
	})
}

// furtherPage is the name of a page of an inventory but the first.
var furtherPage = regexp.MustCompile(`^(.+)\.[0-9]+$`)

// each reads the metadata of all objects of a resource, page by page.
func (l Labels) each(ctx context.Context, resource string, see func(*metav1.PartialObjectMetadata)) error {
	options := metav1.ListOptions{Limit: labelsPage}
	for {
		page, err := l.Metadata.Resource(corev1alpha1.SchemeGroupVersion.WithResource(resource)).List(ctx, options)
		if err != nil {
			return fmt.Errorf("listing %s: %w", resource, err)
		}
		for i := range page.Items {
			see(&page.Items[i])
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return nil
		}
	}
}

func (s *stale) see(kind string, one metav1.Object, want int) {
	if one.GetLabels()[corev1alpha1.LabelShard] == shard.Label(want) {
		return
	}
	if s.count++; s.count == 1 {
		s.example = fmt.Sprintf("%s %s/%s", kind, one.GetNamespace(), one.GetName())
	}
}
