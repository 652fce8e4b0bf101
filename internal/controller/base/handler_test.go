// SPDX-License-Identifier: Apache-2.0

package base

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// enqueued keeps what it is given as "<key> <priority>".
type enqueued []string

func (e *enqueued) Enqueue(key string, p Priority) { *e = append(*e, fmt.Sprintf("%s %s", key, p)) }

func configMap(name, version string, labels ...string) *corev1.ConfigMap {
	c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version, Labels: map[string]string{}}}
	for _, label := range labels {
		c.Labels[label] = ""
	}
	return c
}

func TestHandler(t *testing.T) {
	tests := []struct {
		name  string
		given func(cache.ResourceEventHandler)
		want  []string
	}{
		{"addition", func(h cache.ResourceEventHandler) { h.OnAdd(configMap("a", "1"), false) }, []string{"a change"}},
		{"there before", func(h cache.ResourceEventHandler) { h.OnAdd(configMap("a", "1"), true) }, []string{"a resync"}},
		{"there before, and requested", func(h cache.ResourceEventHandler) { h.OnAdd(configMap("a", "1", "now"), true) }, []string{"a request"}},
		{"update", func(h cache.ResourceEventHandler) { h.OnUpdate(configMap("a", "1"), configMap("a", "2", "x")) }, []string{"a change", "a change"}},
		{"update of two keys", func(h cache.ResourceEventHandler) { h.OnUpdate(configMap("a", "1"), configMap("b", "2", "x")) }, []string{"a change", "b change"}},
		{"request", func(h cache.ResourceEventHandler) { h.OnUpdate(configMap("a", "1"), configMap("a", "2", "now")) }, []string{"a request", "a request"}},
		{"update that does not matter", func(h cache.ResourceEventHandler) { h.OnUpdate(configMap("a", "1"), configMap("a", "2")) }, nil},
		{"resync", func(h cache.ResourceEventHandler) { h.OnUpdate(configMap("a", "1"), configMap("a", "1")) }, []string{"a resync"}},
		{"deletion", func(h cache.ResourceEventHandler) { h.OnDelete(configMap("a", "1")) }, []string{"a change"}},
		{"tombstone", func(h cache.ResourceEventHandler) {
			h.OnDelete(cache.DeletedFinalStateUnknown{Key: "a", Obj: configMap("a", "1")})
		}, []string{"a change"}},
		{"another type", func(h cache.ResourceEventHandler) {
			h.OnAdd(&corev1.Secret{}, false)
			h.OnUpdate(&corev1.Secret{}, &corev1.Secret{})
			h.OnDelete(cache.DeletedFinalStateUnknown{Key: "a", Obj: nil})
		}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got enqueued
			test.given(Handler(&got, Events[*corev1.ConfigMap, string]{
				Keys:    Single(func(c *corev1.ConfigMap) string { return c.Name }),
				Changed: func(old, c *corev1.ConfigMap) bool { return len(old.Labels) != len(c.Labels) },
				Priority: func(_, c *corev1.ConfigMap) Priority {
					if _, now := c.Labels["now"]; now {
						return PriorityRequest
					}
					return PriorityChange
				},
			}))
			NewWithT(t).Expect([]string(got)).To(Equal(test.want))
		})
	}
}

func TestHandlerOfSomeResyncs(t *testing.T) {
	var got enqueued
	h := Handler(&got, Events[*corev1.ConfigMap, string]{
		Keys:   Single(func(c *corev1.ConfigMap) string { return c.Name }),
		Resync: func(c *corev1.ConfigMap) bool { return c.Name == "a" },
	})
	h.OnUpdate(configMap("a", "1"), configMap("a", "1"))
	h.OnUpdate(configMap("b", "1"), configMap("b", "1"))
	h.OnUpdate(configMap("b", "1"), configMap("b", "2"))
	NewWithT(t).Expect([]string(got)).To(Equal([]string{"a resync", "b change", "b change"}))
}

func TestHandlerDefaults(t *testing.T) {
	g := NewWithT(t)
	var got enqueued
	h := Handler(&got, Events[*corev1.ConfigMap, string]{
		Keys: func(c *corev1.ConfigMap) []string { return []string{c.Name + "1", c.Name + "2"} },
	})
	h.OnAdd(configMap("a", "1"), false)
	h.OnUpdate(configMap("b", "1"), configMap("b", "2"))
	g.Expect([]string(got)).To(Equal([]string{"a1 change", "a2 change", "b1 change", "b2 change", "b1 change", "b2 change"}))
}
