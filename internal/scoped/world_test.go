// SPDX-License-Identifier: Apache-2.0

package scoped

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// release is one in a shard, in some version.
func release(name string, shard, version int) *corev1alpha1.Release {
	return &corev1alpha1.Release{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: name, ResourceVersion: strconv.Itoa(version),
		Labels: map[string]string{corev1alpha1.LabelShard: strconv.Itoa(shard)},
	}}
}

// log is a handler that notes what it is told.
type log struct {
	mu   sync.Mutex
	said []string
}

func (l *log) say(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = append(l.said, fmt.Sprintf(format, args...))
}

// take gives what was said since it was asked last.
func (l *log) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	said := l.said
	l.said = nil
	return said
}

func text(object any) string {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		return "missed " + text(unknown.Obj)
	}
	r := object.(*corev1alpha1.Release)
	return r.Name + "@" + r.ResourceVersion
}

func (l *log) OnAdd(object any, initial bool) {
	if initial {
		l.say("there %s", text(object))
		return
	}
	l.say("add %s", text(object))
}
func (l *log) OnUpdate(old, object any) { l.say("update %s %s", text(old), text(object)) }
func (l *log) OnDelete(object any)      { l.say("delete %s", text(object)) }

// silent is a host that never answers: tests tell a scope what there is themselves.
func silent(int) cache.ListerWatcher {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
		WatchFuncWithContext: func(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	}
}

// newCache is one of a silent host, with a handler.
func newCache(t *testing.T) (*Cache[int], *log) {
	c, l := New(Options[int]{Name: "Release", Example: &corev1alpha1.Release{}, ListWatch: silent}), &log{}
	_, err := c.AddEventHandler(l)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { cancel(); c.Wait() })
	for scope := range 3 {
		c.Begin(ctx, scope, scope < 2) // the last is not shown
	}
	return c, l
}

func texts(c *Cache[int]) []string {
	var all []string
	for _, object := range c.GetIndexer().List() {
		all = append(all, text(object))
	}
	return all
}

// host keeps Releases, and lists and watches those of a shard.
type host struct {
	mu      sync.Mutex
	version int
	objects map[string]*corev1alpha1.Release
	events  []event
	watches map[*watcher]bool
}

type event struct {
	version  int
	old, now *corev1alpha1.Release
}

type watcher struct {
	host   *host
	shard  string
	events chan watch.Event
	once   sync.Once
}

func (w *watcher) ResultChan() <-chan watch.Event { return w.events }
func (w *watcher) Stop() {
	w.host.mu.Lock()
	defer w.host.mu.Unlock()
	w.once.Do(func() { delete(w.host.watches, w); close(w.events) })
}

func newHost() *host {
	return &host{objects: map[string]*corev1alpha1.Release{}, watches: map[*watcher]bool{}}
}

// set writes a Release, or with shard -1 deletes it.
func (h *host) set(name string, shard int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.version++
	e := event{version: h.version, old: h.objects[name]}
	if delete(h.objects, name); shard >= 0 {
		e.now = release(name, shard, h.version)
		h.objects[name] = e.now
	}
	h.events = append(h.events, e)
	for w := range h.watches {
		w.send(e)
	}
}

func (w *watcher) in(r *corev1alpha1.Release) bool {
	return r != nil && r.Labels[corev1alpha1.LabelShard] == w.shard
}

func (w *watcher) send(e event) {
	switch was, is := w.in(e.old), w.in(e.now); {
	case is && was:
		w.events <- watch.Event{Type: watch.Modified, Object: e.now.DeepCopy()}
	case is:
		w.events <- watch.Event{Type: watch.Added, Object: e.now.DeepCopy()}
	case was:
		last := e.old.DeepCopy()
		last.ResourceVersion = strconv.Itoa(e.version)
		w.events <- watch.Event{Type: watch.Deleted, Object: last}
	}
}

// watched is how many watches there are.
func (h *host) watched() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.watches)
}

func (h *host) listWatch(shard int) cache.ListerWatcher {
	label := strconv.Itoa(shard)
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			list := &corev1alpha1.ReleaseList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(h.version)}}
			for _, one := range h.objects {
				if one.Labels[corev1alpha1.LabelShard] == label {
					list.Items = append(list.Items, *one.DeepCopy())
				}
			}
			return list, nil
		},
		WatchFuncWithContext: func(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
			since, err := strconv.Atoi(options.ResourceVersion)
			if err != nil {
				return nil, err
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			w := &watcher{host: h, shard: label, events: make(chan watch.Event, 1000)}
			for _, e := range h.events {
				if e.version > since {
					w.send(e)
				}
			}
			h.watches[w] = true
			return w, nil
		},
	}, plain{})
}

// plain is a client that lists before it watches.
type plain struct{}

func (plain) IsWatchListSemanticsUnSupported() bool { return true }
