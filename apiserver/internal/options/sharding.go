// SPDX-License-Identifier: Apache-2.0

package options

import (
	"fmt"

	"github.com/spf13/pflag"
)

// maxShards is far above what helps; each shard is a Lease that a controller renews.
const maxShards = 1024

// Sharding is into how many shards objects are divided.
type Sharding struct {
	Shards int
}

// AddFlags adds the flags.
func (s *Sharding) AddFlags(fs *pflag.FlagSet) {
	fs.IntVar(&s.Shards, "shards", s.Shards,
		"Number of shards among which the replicas of the controllers divide objects. "+
			"The same value must be given to all replicas of convoy-apiserver, convoy-controller-manager and convoy-observer.")
}

// Validate checks the flags.
func (s *Sharding) Validate() []error {
	if s.Shards < 1 || s.Shards > maxShards {
		return []error{fmt.Errorf("--shards must be between 1 and %d, not %d", maxShards, s.Shards)}
	}
	return nil
}
