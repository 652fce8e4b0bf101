// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestOf(t *testing.T) {
	// The sums are those of the FNV-1a reference (32 bit); objects carry what follows from
	// them, so they can never change.
	tests := []struct {
		name   string
		key    string
		shards int
		want   int
	}{
		{"the offset basis", "", 1 << 30, 0x811c9dc5 % (1 << 30)},
		{"one letter", "a", 1 << 30, 0xe40c292c % (1 << 30)},
		{"a word", "foobar", 1 << 30, 0xbf9cf968 % (1 << 30)},
		{"modulo", "foobar", 7, 0xbf9cf968 % 7},
		{"one shard", "foobar", 1, 0},
		{"no shards", "foobar", 0, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			NewWithT(t).Expect(Of(test.key, test.shards)).To(Equal(test.want))
		})
	}
}

func TestKeys(t *testing.T) {
	g := NewWithT(t)
	g.Expect(ClusterKey("team", "prod")).To(Equal("team/prod"))
	g.Expect(ReleaseKey("team", "prod")).To(Equal(ClusterKey("team", "prod")))
	g.Expect(SourceKey("GitRepository", "team", "apps")).To(Equal("GitRepository/team/apps"))
}

func TestSelector(t *testing.T) {
	tests := []struct {
		name  string
		given []int
		want  string
	}{
		{"none", nil, "shard in (none)"},
		{"one", []int{3}, "shard in (3)"},
		{"several, sorted", []int{10, 2, 0}, "shard in (0,2,10)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			NewWithT(t).Expect(Selector("shard", test.given)).To(Equal(test.want))
		})
	}
}

func TestFairShare(t *testing.T) {
	tests := []struct {
		name     string
		shards   int
		holdings map[string]int
		want     map[string]int
	}{
		{"alone", 6, map[string]int{"a": 0}, map[string]int{"a": 6}},
		{"even", 6, map[string]int{"a": 6, "b": 0, "c": 0}, map[string]int{"a": 2, "b": 2, "c": 2}},
		{"the remainder stays where it is", 7, map[string]int{"a": 2, "b": 3, "c": 2}, map[string]int{"a": 2, "b": 3, "c": 2}},
		{"fewer shards than replicas: nothing moves", 1, map[string]int{"a": 0, "b": 1}, map[string]int{"a": 0, "b": 1}},
		{"a joining replica takes one, not three", 6, map[string]int{"a": 2, "b": 2, "c": 2, "d": 0}, map[string]int{"a": 2, "b": 2, "c": 1, "d": 1}},
		{"a replica left", 6, map[string]int{"a": 2, "b": 2}, map[string]int{"a": 3, "b": 3}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			for identity, want := range test.want {
				g.Expect(fairShare(test.shards, test.holdings, identity)).To(Equal(want), identity)
			}
		})
	}
}
