// SPDX-License-Identifier: Apache-2.0

package options

import (
	"github.com/spf13/pflag"

	"kumodo.io/convoy/render"
	renderflags "kumodo.io/convoy/render/flags"
)

// Render says what a render may take.
type Render struct {
	// Limits bound each render.
	Limits render.Limits
	// Workers runs engines in processes of their own.
	Workers bool
}

// NewRender returns the defaults.
func NewRender() *Render { return &Render{Limits: render.DefaultLimits(), Workers: true} }

// AddFlags adds the flags to fs.
func (o *Render) AddFlags(fs *pflag.FlagSet) {
	renderflags.AddLimits(fs, &o.Limits)
	renderflags.AddWorkers(fs, &o.Workers)
}

// Validate returns what is wrong.
func (o *Render) Validate() []error { return renderflags.ValidateLimits(o.Limits) }
