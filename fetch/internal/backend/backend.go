// SPDX-License-Identifier: Apache-2.0

// Package backend is what the coordinator and the kinds of source agree on: how a source
// does its network work, which limits hold, and how a revision is written.
package backend

import (
	"context"
	"strings"

	"kumodo.io/convoy/fetch/internal/fault"
)

// Ops is how a backend reaches its source. The coordinator behind it bounds concurrency,
// sets the time limit of each operation, and shares answers between all that ask the same
// source with the same credentials. Ask and Do may not be called from inside one another.
type Ops interface {
	// Ask returns the answer to a question, from memory when that is young enough. A
	// remembered failure is given on the same terms.
	Ask(ctx context.Context, question Question) (any, error)
	// Do runs one network operation whose result is not remembered.
	Do(ctx context.Context, do func(ctx context.Context) error) error
	// Remember keeps a fact about the source; Recall returns it while it is kept.
	Remember(key string, fact any)
	Recall(key string) (any, bool)
}

// Question is something that a source can be asked, with an answer that is worth keeping.
type Question struct {
	// Key identifies the question among those of the source.
	Key string
	// Ask asks the source. previous is the last answer, nil when there is none.
	Ask func(ctx context.Context, previous any) (Answer, error)
	// Accept says whether a remembered answer will do; nil accepts every one. A refused
	// one is asked for again, though not more often than failures are.
	Accept func(answer any) bool
}

// Answer is what a source said.
type Answer struct {
	Value any
	// Size is the memory that the value holds, in bytes.
	Size int64
}

// Limits bound what is taken in from a source.
type Limits struct {
	// DownloadBytes bounds what is read from the network for one artifact.
	DownloadBytes int64
	// ContentBytes bounds the bytes of all files of an artifact together.
	ContentBytes int64
	// FileBytes bounds one file.
	FileBytes int64
	// Files bounds the number of files, directories and links.
	Files int
	// Ratio bounds how many times its own size an archive may have once it is decompressed.
	// It holds for archives that grow to more than RatioFrom only.
	Ratio int
	// PathBytes bounds the length of a path, and PathDepth its number of elements.
	PathBytes, PathDepth int
	// IndexBytes bounds the index of a Helm repository.
	IndexBytes int64
	// References bounds the branches and tags that a repository may list.
	References int
}

// Names of the flags by which a process sets its limits, for messages about them.
const (
	FlagDownloadBytes = "artifact-max-download-bytes"
	FlagContentBytes  = "artifact-max-bytes"
	FlagFileBytes     = "artifact-max-file-bytes"
	FlagFiles         = "artifact-max-files"
	FlagRatio         = "artifact-max-ratio"
)

// RatioFrom is how many bytes any archive may grow to, however small it is: little text that
// repeats itself compresses better than any amount of usual content.
const RatioFrom = 8 << 20

// DefaultLimits are far above what deployments hold and far below what harms a process.
func DefaultLimits() Limits {
	return Limits{
		DownloadBytes: 256 << 20,
		ContentBytes:  256 << 20,
		FileBytes:     64 << 20,
		Files:         100_000,
		Ratio:         100,
		PathBytes:     1024,
		PathDepth:     64,
		IndexBytes:    128 << 20,
		References:    500_000,
	}
}

// CheckResult is what a look at a source found out.
type CheckResult struct {
	// DefaultBranch of a Git repository.
	DefaultBranch string
	// Refs is the number of references of a Git repository.
	Refs int
	// Charts is the number of charts in a Helm index that have a usable version, and
	// SkippedEntries the number of its entries that are unusable.
	Charts, SkippedEntries int
	// IndexDigest is the digest of a Helm index, sha256:<hex digits>.
	IndexDigest string
}

// Revision is one immutable state of a source's content, written name@algorithm:hex, or
// algorithm:hex where there is no name.
type Revision struct {
	// Name is the branch, tag or version through which the state was found; may be empty.
	Name string
	// Algorithm is sha1 for Git, else sha256, sha384 or sha512.
	Algorithm string
	// Hex is the commit id or digest, in lower case.
	Hex string
}

var hexDigits = map[string]int{"sha1": 40, "sha256": 64, "sha384": 96, "sha512": 128}

// String returns the written form.
func (r Revision) String() string {
	if r.Name == "" {
		return r.Digest()
	}
	return r.Name + "@" + r.Digest()
}

// Digest returns the part that identifies the state.
func (r Revision) Digest() string { return r.Algorithm + ":" + r.Hex }

// ParseRevision reads the written form; the error is ErrInvalid.
func ParseRevision(text string) (Revision, error) {
	name, digest := "", text
	// A name may hold an @ itself; a digest never does.
	if i := strings.LastIndex(text, "@"); i >= 0 {
		name, digest = text[:i], text[i+1:]
	}
	algorithm, digits, ok := strings.Cut(digest, ":")
	if !ok || !IsHex(digits, hexDigits[algorithm]) {
		return Revision{}, fault.New(fault.ErrInvalid, "%q is not a revision: name@sha1:<40 hex digits> or name@sha256:<64 hex digits> is expected", text)
	}
	return Revision{Name: name, Algorithm: algorithm, Hex: strings.ToLower(digits)}, nil
}

// IsHex says whether text is exactly n hexadecimal digits, n > 0.
func IsHex(text string, n int) bool {
	if n == 0 || len(text) != n {
		return false
	}
	for _, c := range []byte(text) {
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F') {
			return false
		}
	}
	return true
}
