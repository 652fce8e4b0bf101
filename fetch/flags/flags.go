// SPDX-License-Identifier: Apache-2.0

// Package flags has the flags by which a process bounds what it takes in from sources, so
// that they are the same in every process that fetches.
package flags

import (
	"fmt"

	"github.com/spf13/pflag"

	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/fetch/internal/backend"
)

// AddLimits adds the flags of the limits of an artifact to fs. What limits hold before is
// their default.
func AddLimits(fs *pflag.FlagSet, limits *fetch.Limits) {
	fs.Int64Var(&limits.DownloadBytes, backend.FlagDownloadBytes, limits.DownloadBytes, "How many bytes are read from the network for one artifact: a commit, a chart, a layer.")
	fs.Int64Var(&limits.ContentBytes, backend.FlagContentBytes, limits.ContentBytes, "How many bytes the files of one artifact may have together.")
	fs.Int64Var(&limits.FileBytes, backend.FlagFileBytes, limits.FileBytes, "How many bytes one file of an artifact may have.")
	fs.IntVar(&limits.Files, backend.FlagFiles, limits.Files, "How many files, directories and links one artifact may have.")
	fs.IntVar(&limits.Ratio, backend.FlagRatio, limits.Ratio, "How many times its own size an archive may have once it is decompressed, if that is more than 8 MiB. Archives inside of charts are held to it, too.")
}

// ValidateLimits returns what is wrong with limits, by the names of their flags.
func ValidateLimits(limits fetch.Limits) []error {
	// Above these, sums of limits would not be numbers any more.
	const mostBytes, most = 1 << 40, 1 << 30
	var errs []error
	for _, flag := range []struct {
		name        string
		value, most int64
	}{
		{backend.FlagDownloadBytes, limits.DownloadBytes, mostBytes},
		{backend.FlagContentBytes, limits.ContentBytes, mostBytes},
		{backend.FlagFileBytes, limits.FileBytes, mostBytes},
		{backend.FlagFiles, int64(limits.Files), most},
		{backend.FlagRatio, int64(limits.Ratio), most},
	} {
		if flag.value < 1 || flag.value > flag.most {
			errs = append(errs, fmt.Errorf("--%s: %d is not between 1 and %d", flag.name, flag.value, flag.most))
		}
	}
	return errs
}
