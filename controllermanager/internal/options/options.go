// SPDX-License-Identifier: Apache-2.0

// Package options holds the flags of convoy-controller-manager: one struct for each group.
package options

import (
	"errors"

	"github.com/spf13/pflag"

	"kumodo.io/convoy/internal/process"
	"kumodo.io/convoy/render"
)

// Options are all flags of convoy-controller-manager.
type Options struct {
	Process     *process.Options
	Fetch       *Fetch
	Render      *Render
	RenderStore *RenderStore
	Apply       *Apply
}

// New returns the defaults.
func New() *Options {
	return &Options{
		Process:     process.NewOptions(),
		Fetch:       NewFetch(),
		Render:      NewRender(),
		RenderStore: NewRenderStore(),
		Apply:       NewApply(),
	}
}

// AddFlags adds every flag to fs.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	o.Process.AddFlags(fs)
	o.Fetch.AddFlags(fs)
	o.Render.AddFlags(fs)
	o.RenderStore.AddFlags(fs)
	o.Apply.AddFlags(fs)
}

// Validate returns what is wrong with the flags, all at once.
func (o *Options) Validate() error {
	errs := o.Process.Validate()
	errs = append(errs, o.Fetch.Validate()...)
	errs = append(errs, o.Render.Validate()...)
	errs = append(errs, o.RenderStore.Validate()...)
	errs = append(errs, o.Apply.Validate()...)
	return errors.Join(errs...)
}

// RenderLimits are the limits of each render, for which archives in charts are archives like
// those that are fetched.
func (o *Options) RenderLimits() render.Limits {
	limits := o.Render.Limits
	limits.Ratio = o.Fetch.Limits.Ratio
	return limits
}
