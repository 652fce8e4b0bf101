// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"context"
	"errors"
	"io/fs"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/render"
)

// slow is content of which one file does not come before the context of who reads it ends.
type slow struct {
	fs.FS
	file  string
	ctx   context.Context
	began chan<- struct{}
}

func (s slow) WithContext(ctx context.Context) fs.FS { s.ctx = ctx; return s }

func (s slow) Open(name string) (fs.File, error) {
	if name != s.file {
		return s.FS.Open(name)
	}
	s.began <- struct{}{}
	<-s.ctx.Done()
	return nil, &fs.PathError{Op: "open", Path: name, Err: s.ctx.Err()}
}

// TestContentThatDoesNotComeKeepsNoTurn when the time of its render is over, or nobody waits for it
// any more.
func TestContentThatDoesNotComeKeepsNoTurn(t *testing.T) {
	files := map[string]string{"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"}
	for _, workers := range []bool{false, true} {
		for name, limit := range map[string]time.Duration{"the time is over": 100 * time.Millisecond, "nobody waits": time.Hour} {
			t.Run(name, func(t *testing.T) {
				g := NewWithT(t)
				r := render.New(render.Options{MaxConcurrent: 1, Workers: workers, Limits: render.Limits{Time: limit}})
				began := make(chan struct{}, 10)
				in := input(t, "", files)
				in.Artifact.Root = slow{FS: in.Artifact.Root, file: "a.yaml", began: began}
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				done := make(chan error)
				go func() {
					_, err := r.Render(ctx, in)
					done <- err
				}()
				var err error
				if limit < time.Hour {
					g.Eventually(done).WithTimeout(time.Minute).Should(Receive(&err))
					failed, ok := errors.AsType[*render.Error](err)
					g.Expect(ok).To(BeTrue(), "%v", err)
					g.Expect(failed.Message).To(ContainSubstring("rendering takes too long; raise --render-timeout"))
					return
				}
				g.Eventually(began).WithTimeout(time.Minute).Should(Receive())
				leave()
				g.Eventually(done).WithTimeout(time.Minute).Should(Receive(&err))
				g.Expect(errors.Is(err, context.Canceled)).To(BeTrue(), "%v", err)
				_, err = r.Render(t.Context(), input(t, "", map[string]string{"b.yaml": files["a.yaml"]}))
				g.Expect(err).NotTo(HaveOccurred(), "its turn is free")
			})
		}
	}
}
