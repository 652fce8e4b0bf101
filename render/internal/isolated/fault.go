// SPDX-License-Identifier: Apache-2.0

package isolated

import (
	"errors"
	"io/fs"

	"kumodo.io/convoy/render/internal/limit"
	"kumodo.io/convoy/render/internal/manifest"
)

// fault is an error on its way: its text, and those errors in its chain which are told apart
// by anybody.
type fault struct {
	Text    string
	Limit   *limit.Error
	Invalid *manifest.InvalidError
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
	f := &fault{Text: err.Error()}
	errors.As(err, &f.Limit)
	errors.As(err, &f.Invalid)
	for i, kind := range fileErrors {
		if f.File == 0 && errors.Is(err, kind) {
			f.File = i + 1
		}
	}
	return f
}

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
