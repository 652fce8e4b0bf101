// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"io/fs"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/fault"
)

// The kinds of failure, tested with errors.Is. Texts of errors name the kind, name and URL
// of the source and hold no credentials.
var (
	// ErrNotFound: the revision, chart, artifact or path does not exist at the source.
	ErrNotFound = fault.ErrNotFound
	// ErrUnreachable: the source did not answer, or answered that it cannot answer now. An
	// operation that took too long is context.DeadlineExceeded besides.
	ErrUnreachable = fault.ErrUnreachable
	// ErrUnauthorized: the source refused the credentials, or could not prove its identity.
	ErrUnauthorized = fault.ErrUnauthorized
	// ErrSecret: a Secret or one of its keys is missing or unusable.
	ErrSecret = fault.ErrSecret
	// ErrSecretNotFound: a Secret is missing; such an error is ErrSecret too.
	ErrSecretNotFound = fault.ErrSecretNotFound
	// ErrInvalid: the source or the reference to content is configured wrongly.
	ErrInvalid = fault.ErrInvalid
	// ErrLimit: the content is larger than what is accepted.
	ErrLimit = fault.ErrLimit
	// ErrContent: the content itself is unusable, for example a link out of it, or a Git
	// LFS pointer. Reading files of an Artifact can give it too.
	ErrContent = fault.ErrContent
	// ErrVerification: a signature that the source demands is missing or not accepted.
	ErrVerification = fault.ErrVerification
)

// Secrets reads the data of a Secret. The error for an absent one satisfies
// apierrors.IsNotFound.
type Secrets interface {
	Secret(ctx context.Context, namespace, name string) (map[string][]byte, error)
}

// Want is the content that somebody wants.
type Want struct {
	// Namespace of the Release and of the source's Secrets.
	Namespace string
	// Source is the *GitRepository, *HelmRegistry or *OCIRegistry that Content refers to.
	Source runtime.Object
	// Content says what of the source is wanted.
	Content corev1alpha1.ReleaseSource
	// File is a file of a GitRepository that alone is wanted, in place of the path of Content.
	// The Artifact has no Digest then, and its Path is that of the file, there or not.
	File string
	// Revision is what a Release is pinned to: a revision as Resolve returns it, a commit
	// id or digest, or an exact tag or version. Content's own reference does not count then.
	Revision string
	// MaxAge is how old the knowledge of a moving reference may be; 0 asks now. A failure is
	// given again, for a short time, only if it is no older. That the content of a revision
	// is unusable is given again for longer, unless MaxAge is below ten seconds: somebody
	// has just asked, who may have mended it.
	MaxAge time.Duration
	// Since is when a person asked for a look, or zero: neither an answer nor a failure of a
	// question that was put to the source before counts, however recently it came.
	Since time.Time
}

// Artifact is content in memory. It is shared and immutable, and it stays valid as long as
// somebody holds it.
type Artifact struct {
	// Root is the whole content: the tree of a repository, a chart, the files of an
	// artifact. Symbolic links that stay inside are followed; reading one that does not is
	// ErrContent. Its listings are sorted, its times zero. What is fetched only when it is read
	// may take time; a Root of which this is so has a method WithContext(context.Context) fs.FS,
	// for reading that ends with a context.
	Root fs.FS
	// Path is the wanted directory in Root, in the form that fs.FS takes; "." is all.
	Path string
	// Digest is the digest of what can be read at Path, sha256:<hex digits>. It does not
	// change with anything outside of Path but what links at Path lead to.
	Digest string
	// RootDigest is the digest of the whole content.
	RootDigest string
	// Revision that the content is of.
	Revision string
}

// CheckResult is what Check found out.
type CheckResult = backend.CheckResult

// Limits bound what is taken in from a source.
type Limits = backend.Limits

// DefaultLimits are far above what deployments hold and far below what harms a process.
func DefaultLimits() Limits { return backend.DefaultLimits() }
