// SPDX-License-Identifier: Apache-2.0

// Package flags has the flags by which a process bounds its renders, so that they are the
// same in every process that renders.
package flags

import (
	"fmt"

	"github.com/spf13/pflag"

	"kumodo.io/convoy/render"
	"kumodo.io/convoy/render/internal/isolated"
	"kumodo.io/convoy/render/internal/limit"
)

// AddLimits adds the flags of the limits of a render to fs. What limits hold before is their
// default.
func AddLimits(fs *pflag.FlagSet, limits *render.Limits) {
	fs.DurationVar(&limits.Time, limit.FlagTime, limits.Time, "How long one render may take.")
	fs.Int64Var(&limits.OutputBytes, limit.FlagBytes, limits.OutputBytes, "How many bytes all manifests of one render may have together; also each value in a template, and what a kustomization reads. What templates make on the way, and archives in charts, may have four times as many.")
	fs.Int64Var(&limits.MemoryBytes, isolated.FlagMemory, limits.MemoryBytes, "How many bytes of memory the worker of one render may take; see --"+workers+".")
}

const workers = "render-workers"

// AddWorkers adds the flag that says whether renders run in workers to fs. What on holds before
// is its default.
func AddWorkers(fs *pflag.FlagSet, on *bool) {
	fs.BoolVar(on, workers, *on, "Run the engines of renders in processes of their own, so that no content can end this one, hold it up or take its memory.")
}

// ValidateLimits returns what is wrong with limits, by the names of their flags.
func ValidateLimits(limits render.Limits) []error {
	const mostBytes = 1 << 40 // above it, sums of limits would not be numbers any more
	var errs []error
	if limits.Time <= 0 {
		errs = append(errs, fmt.Errorf("--%s: %s is not above 0", limit.FlagTime, limits.Time))
	}
	if limits.OutputBytes < 1 || limits.OutputBytes > mostBytes {
		errs = append(errs, fmt.Errorf("--%s: %d is not between 1 and %d", limit.FlagBytes, limits.OutputBytes, int64(mostBytes)))
	}
	if least := int64(isolated.LeastMemory); limits.MemoryBytes < least || limits.MemoryBytes > mostBytes {
		errs = append(errs, fmt.Errorf("--%s: %d is not between %d and %d", isolated.FlagMemory, limits.MemoryBytes, least, int64(mostBytes)))
	}
	return errs
}
