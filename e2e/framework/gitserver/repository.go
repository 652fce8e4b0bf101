// SPDX-License-Identifier: Apache-2.0

package gitserver

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kumodo.io/convoy/e2e/framework/httpserver"
)

const (
	// DefaultBranch is the branch a clone checks out.
	DefaultBranch = "main"

	identityName  = "Convoy Author"
	identityEmail = "author@convoy.test"
)

// Repository is a bare repository in the folder of a server.
type Repository struct {
	name string
	dir  string
}

// Commit is one commit to a branch.
type Commit struct {
	Branch  string // DefaultBranch when empty; made when absent
	Message string // "Change" when empty
	Write   map[string]string
	Links   map[string]string // path of a symbolic link -> where it points
	Delete  []string          // files or folders; applied before the others
}

// Create makes an empty repository <root>/<name>.git. An existing one is an error.
func Create(ctx context.Context, root, name string) (*Repository, error) {
	r := Open(root, name)
	if _, err := os.Stat(r.dir); err == nil {
		return nil, fmt.Errorf("create repository %s: %w", name, fs.ErrExist)
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, fmt.Errorf("create repository %s: %w", name, err)
	}
	if _, err := run(ctx, root, nil, "init", "--quiet", "--bare", "--initial-branch="+DefaultBranch, r.dir); err != nil {
		return nil, err
	}
	// Partial clones, single commits by hash and pushes are all allowed.
	for _, setting := range [][2]string{{"http.receivepack", "true"}, {"uploadpack.allowAnySHA1InWant", "true"}, {"uploadpack.allowFilter", "true"}} {
		if _, err := run(ctx, r.dir, nil, "config", setting[0], setting[1]); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Open returns the repository <root>/<name>.git, which must have been created.
func Open(root, name string) *Repository {
	return &Repository{name: name, dir: filepath.Join(root, name+".git")}
}

// Dir returns the bare repository's folder.
func (r *Repository) Dir() string { return r.dir }

// Commit adds a commit on top of the branch and returns its hash.
func (r *Repository) Commit(ctx context.Context, c Commit) (string, error) {
	if c.Branch == "" {
		c.Branch = DefaultBranch
	}
	if c.Message == "" {
		c.Message = "Change"
	}
	branch := "refs/heads/" + c.Branch
	_, err := r.git(ctx, "rev-parse", "--verify", "--quiet", branch)
	stream := importStream(c, branch, err == nil, time.Now())
	if _, err := run(ctx, r.dir, stream, "fast-import", "--quiet"); err != nil {
		return "", fmt.Errorf("commit to %s: %w", c.Branch, err)
	}
	return r.Head(ctx, c.Branch)
}

// Head returns the hash of the newest commit of a branch.
func (r *Repository) Head(ctx context.Context, branch string) (string, error) {
	return r.git(ctx, "rev-parse", "--verify", "refs/heads/"+branch)
}

// Tag puts an annotated tag on a commit.
func (r *Repository) Tag(ctx context.Context, tag, commit string) error {
	_, err := r.git(ctx, "-c", "user.name="+identityName, "-c", "user.email="+identityEmail, "tag", "--annotate", "--message="+tag, tag, commit)
	return err
}

// Reset makes a branch point at a commit, as a forced push does. The branch is
// made when absent.
func (r *Repository) Reset(ctx context.Context, branch, commit string) error {
	_, err := r.git(ctx, "update-ref", "refs/heads/"+branch, commit)
	return err
}

// DeleteReference removes a branch or a tag by its full name ("refs/tags/v1").
func (r *Repository) DeleteReference(ctx context.Context, name string) error {
	_, err := r.git(ctx, "update-ref", "-d", name)
	return err
}

// Protect makes servers ask for the credentials of this repository.
func (r *Repository) Protect(user, password string) error {
	return httpserver.Protect(r.dir, user, password)
}

// Unprotect opens the repository to everybody again.
func (r *Repository) Unprotect() error { return httpserver.Unprotect(r.dir) }

func (r *Repository) git(ctx context.Context, args ...string) (string, error) {
	return run(ctx, r.dir, nil, args...)
}

// importStream writes the commit in the language of git fast-import, which
// needs no work tree and puts all of it in place at once.
func importStream(c Commit, branch string, exists bool, now time.Time) *bytes.Buffer {
	stream := &bytes.Buffer{}
	data := func(content string) { fmt.Fprintf(stream, "data %d\n%s\n", len(content), content) }
	fmt.Fprintf(stream, "commit %s\n", branch)
	fmt.Fprintf(stream, "committer %s <%s> %d +0000\n", identityName, identityEmail, now.Unix())
	data(c.Message)
	if exists {
		fmt.Fprintf(stream, "from %s^0\n", branch)
	}
	for _, path := range c.Delete {
		fmt.Fprintf(stream, "D %s\n", quote(path))
	}
	for _, path := range sortedKeys(c.Write) {
		fmt.Fprintf(stream, "M 100644 inline %s\n", quote(path))
		data(c.Write[path])
	}
	for _, path := range sortedKeys(c.Links) {
		fmt.Fprintf(stream, "M 120000 inline %s\n", quote(path))
		data(c.Links[path])
	}
	return stream
}

// quote writes a path as fast-import wants it, whatever characters it has.
func quote(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(path) + `"`
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
