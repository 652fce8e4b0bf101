// SPDX-License-Identifier: Apache-2.0

package options

import (
	"fmt"

	"github.com/spf13/pflag"
)

// Apply says how target clusters are written to.
type Apply struct {
	// Concurrency bounds the objects of one Release that are sent at once.
	Concurrency int
	// ClusterConcurrency bounds the Releases of one cluster that are worked on at once.
	ClusterConcurrency int
}

// NewApply returns the defaults.
func NewApply() *Apply { return &Apply{Concurrency: 8, ClusterConcurrency: 8} }

// AddFlags adds the flags to fs.
func (o *Apply) AddFlags(fs *pflag.FlagSet) {
	fs.IntVar(&o.Concurrency, "apply-concurrency", o.Concurrency, "How many objects of a Release are sent at once.")
	fs.IntVar(&o.ClusterConcurrency, "cluster-concurrency", o.ClusterConcurrency, "How many Releases of a cluster are worked on at once, so that a slow cluster leaves workers to the others. 0: no limit.")
}

// Validate returns what is wrong.
func (o *Apply) Validate() []error {
	var errs []error
	if o.Concurrency < 1 {
		errs = append(errs, fmt.Errorf("--apply-concurrency: %d is not 1 or more", o.Concurrency))
	}
	if o.ClusterConcurrency < 0 {
		errs = append(errs, fmt.Errorf("--cluster-concurrency: %d is below 0", o.ClusterConcurrency))
	}
	return errs
}
