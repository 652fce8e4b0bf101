// SPDX-License-Identifier: Apache-2.0

package options

import (
	"fmt"

	"github.com/spf13/pflag"

	"kumodo.io/convoy/fetch"
	fetchflags "kumodo.io/convoy/fetch/flags"
)

// Fetch says how content of sources is fetched.
type Fetch struct {
	// CacheBytes bounds the fetched content that is held in memory without being in use.
	CacheBytes int64
	// AllowFileSources allows GitRepositories on the disk of this process.
	AllowFileSources bool
	// Concurrency bounds the operations on the network at a time.
	Concurrency int
	// Limits bound each artifact.
	Limits fetch.Limits
}

// NewFetch returns the defaults.
func NewFetch() *Fetch {
	return &Fetch{CacheBytes: 512 << 20, Concurrency: 8, Limits: fetch.DefaultLimits()}
}

// AddFlags adds the flags to fs.
func (o *Fetch) AddFlags(fs *pflag.FlagSet) {
	fs.Int64Var(&o.CacheBytes, "artifact-cache-bytes", o.CacheBytes, "How many bytes of fetched content are held in memory. What is being fetched may take as much again, and one artifact beyond.")
	fs.BoolVar(&o.AllowFileSources, "allow-file-sources", o.AllowFileSources, "Allow file:// URLs in GitRepositories. They read the file system of this process.")
	fs.IntVar(&o.Concurrency, "fetch-concurrency", o.Concurrency, "How many sources are asked or fetched from at once.")
	fetchflags.AddLimits(fs, &o.Limits)
}

// Validate returns what is wrong.
func (o *Fetch) Validate() []error {
	var errs []error
	if o.CacheBytes <= 0 {
		errs = append(errs, fmt.Errorf("--artifact-cache-bytes: %d is not above 0", o.CacheBytes))
	}
	if o.Concurrency < 1 {
		errs = append(errs, fmt.Errorf("--fetch-concurrency: %d is not 1 or more", o.Concurrency))
	}
	return append(errs, fetchflags.ValidateLimits(o.Limits)...)
}
