// SPDX-License-Identifier: Apache-2.0

package shardlabel

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

func TestSet(t *testing.T) {
	for _, test := range []struct {
		name   string
		shards int
		key    string
		given  map[string]string
		want   map[string]string
	}{
		{name: "one shard", shards: 1, key: "a/b", want: map[string]string{corev1alpha1.LabelShard: "0"}},
		{name: "no number is one shard", shards: 0, key: "a/b", want: map[string]string{corev1alpha1.LabelShard: "0"}},
		// FNV-1a of "a" is 0xe40c292c.
		{name: "several", shards: 7, key: "a", want: map[string]string{corev1alpha1.LabelShard: "5"}},
		{
			name: "the client's value is overwritten, other labels stay", shards: 1, key: "a/b",
			given: map[string]string{corev1alpha1.LabelShard: "mine", "app": "web"},
			want:  map[string]string{corev1alpha1.LabelShard: "0", "app": "web"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			before := map[string]string{}
			for name, value := range test.given {
				before[name] = value
			}
			obj := &metav1.ObjectMeta{Labels: test.given}
			New(test.shards).Set(obj, test.key)
			g.Expect(obj.Labels).To(Equal(test.want))
			if test.given != nil {
				g.Expect(test.given).To(Equal(before), "the map that was shared is not written to")
			}
		})
	}
}

func TestKeep(t *testing.T) {
	for _, test := range []struct {
		name, given string
		want        bool
	}{
		{"a shard", "3", true},
		{"no such shard", "4", false},
		{"negative", "-1", false},
		{"no number", "x", false},
		{"nothing", "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			obj := &metav1.ObjectMeta{Labels: map[string]string{corev1alpha1.LabelShard: test.given}}
			g.Expect(New(4).Keep(obj)).To(Equal(test.want))
			g.Expect(obj.Labels[corev1alpha1.LabelShard]).To(Equal(test.given))
		})
	}
}

func TestKeepNormalizes(t *testing.T) {
	g := NewWithT(t)
	obj := &metav1.ObjectMeta{Labels: map[string]string{corev1alpha1.LabelShard: "03"}}
	g.Expect(New(4).Keep(obj)).To(BeTrue())
	g.Expect(obj.Labels[corev1alpha1.LabelShard]).To(Equal("3"), "selectors compare text")
}
