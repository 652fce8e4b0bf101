// SPDX-License-Identifier: Apache-2.0

// Package shard divides the objects of an installation among the replicas of a component.
//
// Of says to which shard an object belongs; it is a pure function of a key and of the
// number of shards, which every binary of an installation must be given alike (--shards).
// Manager says which shards this replica works on: replicas share them out by Leases, one
// for each shard and one by which each replica makes itself known.
//
// The package knows nothing of what is done for a shard; Manager.Subscribe is the seam.
package shard

import (
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
)

// Of is the shard of a key among so many shards: FNV-1a (32 bit) of the key, modulo the
// number of shards. With fewer than two shards it is 0.
func Of(key string, shards int) int {
	if shards < 2 {
		return 0
	}
	h := fnv.New32a()
	h.Write([]byte(key)) // never fails
	return int(h.Sum32() % uint32(shards))
}

// ClusterKey is the key of a Cluster.
func ClusterKey(namespace, name string) string { return namespace + "/" + name }

// ReleaseKey is the key of a Release or a ReleaseInventory: that of the Cluster that it
// names, so that a Cluster and its Releases are in one shard.
func ReleaseKey(namespace, clusterName string) string { return ClusterKey(namespace, clusterName) }

// SourceKey is the key of a GitRepository, HelmRegistry or OCIRegistry.
func SourceKey(kind, namespace, name string) string { return kind + "/" + namespace + "/" + name }

// Label is the value of the shard label on the objects of a shard.
func Label(shard int) string { return strconv.Itoa(shard) }

// Selector is the label selector of the objects of these shards, where label is the name of
// the shard label. Without shards it selects nothing.
func Selector(label string, shards []int) string {
	if len(shards) == 0 {
		return label + " in (none)"
	}
	sorted := slices.Sorted(slices.Values(shards))
	values := make([]string, len(sorted))
	for i, shard := range sorted {
		values[i] = Label(shard)
	}
	return label + " in (" + strings.Join(values, ",") + ")"
}
