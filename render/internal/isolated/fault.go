// SPDX-License-Identifier: Apache-2.0

package isolated

import (
	"errors"
	"io/fs"
	"strings"

	"kumodo.io/convoy/render/internal/limit"
	"kumodo.io/convoy/render/internal/manifest"
	"kumodo.io/convoy/render/internal/mutation"
	"kumodo.io/convoy/render/internal/scrub"
)

// fault is an error on its way: its text, and those errors in its chain which are told apart
// by anybody.
type fault struct {
	Text    string
	Limit   *limit.Error
	Invalid *manifest.InvalidError
	// Mutation is the name of a mutation that cannot be used, if Unusable is true.
	Mutation string
	Unusable bool
	// File is the place of an error of a file system in fileErrors, from 1.
	File int
}

// fileErrors are what fs.FS says of files.
var fileErrors = []error{fs.ErrNotExist, fs.ErrPermission, fs.ErrInvalid, fs.ErrExist, fs.ErrClosed}

// faultOf gives the fault for an error; nil for none.
func faultOf(err error) *fault {
	if err == nil {
		return nil
	}
	f := &fault{Text: cut(err.Error())}
	errors.As(err, &f.Limit)
	if invalid := (*manifest.InvalidError)(nil); errors.As(err, &invalid) {
		f.Invalid = &manifest.InvalidError{Object: cut(invalid.Object), Origin: cut(invalid.Origin), Problem: cut(invalid.Problem)}
	}
	if unusable := (*mutation.InvalidError)(nil); errors.As(err, &unusable) {
		f.Mutation, f.Unusable = cut(unusable.Name), true
	}
	for i, kind := range fileErrors {
		if f.File == 0 && errors.Is(err, kind) {
			f.File = i + 1
		}
	}
	return f
}

// cut gives of a text what the other process would look at: content can make texts of any
// length.
func cut(text string) string { return strings.Clone(text[:min(len(text), scrub.Searched)]) }

// err gives the error again.
func (f *fault) err() error {
	if f == nil {
		return nil
	}
	e := &arrived{text: f.Text}
	if f.Limit != nil {
		e.chain = append(e.chain, f.Limit)
	}
	if f.Invalid != nil {
		e.chain = append(e.chain, f.Invalid)
	}
	if f.Unusable {
		e.chain = append(e.chain, &mutation.InvalidError{Name: f.Mutation})
	}
	if f.File > 0 && f.File <= len(fileErrors) {
		e.chain = append(e.chain, fileErrors[f.File-1])
	}
	return e
}

// arrived is an error of another process.
type arrived struct {
	text  string
	chain []error
}

func (e *arrived) Error() string { return e.text }

func (e *arrived) Unwrap() []error { return e.chain }
