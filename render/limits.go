// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"time"

	"kumodo.io/convoy/render/internal/helm/execute"
)

// Limits bound what one render may use, so that content cannot take the process along. A
// render that meets one is an *Error that names it. 0 means the default.
//
// Nothing can stop a goroutine from outside. Templates are stopped at the next iteration or
// call; a kustomization is stopped when it reads its next file. What a function, or the
// kustomize library, does in between is bounded by the size of what it is given, and, with
// Options.Workers, by the end of the process that does it.
type Limits struct {
	// Time that a render may take from when it begins; a minute. Mutations, and all that comes
	// after the engine, may take it once more. Only this limit depends on the machine, so only
	// this Error is not remembered.
	Time time.Duration
	// Steps that templates may take: iterations, calls of templates and functions;
	// 10,000,000.
	Steps int64
	// MadeBytes is how much text and how many lists templates may make, what they throw away
	// included; four times OutputBytes.
	MadeBytes int64
	// OutputBytes is how much all manifests together may have, and every single value in a
	// template; how much a kustomization may read, a file counted as often as it is read;
	// 64 MiB. In memory, all objects together may take four times as much.
	OutputBytes int64
	// Ratio is how many times its own size an archive in the charts/ folder of a chart may
	// have once it is unpacked, if that is more than 8 MiB; 100.
	Ratio int
	// MemoryBytes is how much memory the worker of a render may take; nothing measures it
	// without Options.Workers; 1 GiB.
	MemoryBytes int64
}

// DefaultLimits are far above what deployments need and far below what harms a process.
// MadeBytes is left to follow OutputBytes.
func DefaultLimits() Limits {
	return Limits{Time: time.Minute, Steps: 10_000_000, OutputBytes: 64 << 20, Ratio: 100, MemoryBytes: 1 << 30}
}

func (l Limits) withDefaults() Limits {
	d := DefaultLimits()
	output := cmp.Or(max(l.OutputBytes, 0), d.OutputBytes)
	return Limits{
		Time:        cmp.Or(max(l.Time, 0), d.Time),
		Steps:       cmp.Or(max(l.Steps, 0), d.Steps),
		MadeBytes:   cmp.Or(max(l.MadeBytes, 0), 4*output),
		OutputBytes: output,
		Ratio:       cmp.Or(max(l.Ratio, 0), d.Ratio),
		MemoryBytes: cmp.Or(max(l.MemoryBytes, 0), d.MemoryBytes),
	}
}

func (l Limits) templates() execute.Limits {
	return execute.Limits{Steps: l.Steps, Made: l.MadeBytes, Value: l.OutputBytes}
}
