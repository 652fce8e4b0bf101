// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"
	"gocloud.dev/gcerrors"

	"kumodo.io/convoy/render/store"
)

// memory is a place whose requests can be held up, so that tests decide whose comes next.
type memory struct {
	mu      sync.Mutex
	objects map[string]stored
}

type stored struct {
	content []byte
	at      time.Time
}

// open gives a store at the place. before is called before each request, which is not carried
// out when it gives an error.
func (m *memory) open(o store.Options, before func() error) *store.Store {
	return store.New(store.Place{Bucket: blob.NewBucket(&requests{m, before}), Name: "memory"}, o)
}

// age makes what is under a key older.
func (m *memory) age(key string, by time.Duration) {
	if o, ok := m.objects[key]; ok {
		o.at = o.at.Add(-by)
		m.objects[key] = o
	}
}

var (
	errAbsent = fmt.Errorf("absent: %w", fs.ErrNotExist)
	errThere  = errors.New("there")
)

// requests are those of one process to a memory.
type requests struct {
	*memory
	before func() error
}

func (r *requests) get(key string) (stored, error) {
	if err := r.before(); err != nil {
		return stored{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	o, ok := r.objects[key]
	if !ok {
		return o, errAbsent
	}
	return o, nil
}

func (r *requests) Attributes(_ context.Context, key string) (*driver.Attributes, error) {
	o, err := r.get(key)
	return &driver.Attributes{ModTime: o.at, Size: int64(len(o.content))}, err
}

func (r *requests) NewRangeReader(_ context.Context, key string, _, _ int64, _ *driver.ReaderOptions) (driver.Reader, error) {
	o, err := r.get(key)
	if err != nil {
		return nil, err
	}
	return &reader{bytes.NewReader(o.content), o}, nil
}

func (r *requests) Delete(_ context.Context, key string, _ *driver.DeleteOptions) error {
	if _, err := r.get(key); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.objects, key)
	return nil
}

func (r *requests) NewTypedWriter(_ context.Context, key, _ string, o *driver.WriterOptions) (driver.Writer, error) {
	return &writer{requests: r, key: key, onlyNew: o.IfNotExist}, nil
}

func (r *requests) ListPaged(_ context.Context, o *driver.ListOptions) (*driver.ListPage, error) {
	if err := r.before(); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	page := &driver.ListPage{}
	for key, held := range r.objects {
		page.Objects = append(page.Objects, &driver.ListObject{Key: key, ModTime: held.at, Size: int64(len(held.content))})
	}
	slices.SortFunc(page.Objects, func(a, b *driver.ListObject) int { return bytes.Compare([]byte(a.Key), []byte(b.Key)) })
	return page, nil
}

func (r *requests) ErrorCode(err error) gcerrors.ErrorCode {
	switch {
	case errors.Is(err, errAbsent):
		return gcerrors.NotFound
	case errors.Is(err, errThere):
		return gcerrors.FailedPrecondition
	}
	return gcerrors.Unknown
}

func (r *requests) As(any) bool             { return false }
func (r *requests) ErrorAs(error, any) bool { return false }
func (r *requests) Close() error            { return nil }

func (r *requests) Copy(context.Context, string, string, *driver.CopyOptions) error {
	return errors.ErrUnsupported
}

func (r *requests) SignedURL(context.Context, string, *driver.SignedURLOptions) (string, error) {
	return "", errors.ErrUnsupported
}

type reader struct {
	io.Reader
	of stored
}

func (r *reader) Close() error { return nil }
func (r *reader) As(any) bool  { return false }

func (r *reader) Attributes() *driver.ReaderAttributes {
	return &driver.ReaderAttributes{ModTime: r.of.at, Size: int64(len(r.of.content))}
}

type writer struct {
	*requests
	bytes.Buffer
	key     string
	onlyNew bool
}

func (w *writer) Close() error {
	if err := w.before(); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, there := w.objects[w.key]; there && w.onlyNew {
		return errThere
	}
	w.objects[w.key] = stored{bytes.Clone(w.Bytes()), time.Now()}
	return nil
}

// take has actors take turns: of those that are about to make a request, choose says whose is
// carried out next.
func take(choose func(of int) int, actors ...func(turn func())) {
	type report struct {
		actor int
		ended bool
	}
	reports, turns := make(chan report), make([]chan struct{}, len(actors))
	for i, act := range actors {
		turns[i] = make(chan struct{})
		go func() {
			act(func() {
				reports <- report{actor: i}
				<-turns[i]
			})
			reports <- report{actor: i, ended: true}
		}()
	}
	var waiting []int
	for running := len(actors); ; running = 1 {
		for range running {
			if r := <-reports; !r.ended {
				waiting = append(waiting, r.actor)
			}
		}
		if len(waiting) == 0 {
			return
		}
		slices.Sort(waiting)
		next := choose(len(waiting))
		actor := waiting[next]
		waiting = slices.Delete(waiting, next, next+1)
		turns[actor] <- struct{}{}
	}
}

// everyOrder calls play with each order in which actors can take turns.
func everyOrder(play func(choose func(of int) int)) (orders int) {
	var taken, of []int
	for {
		at := 0
		play(func(n int) int {
			if at == len(taken) {
				taken, of = append(taken, 0), append(of, n)
			}
			at++
			return taken[at-1]
		})
		orders++
		for len(taken) > 0 && taken[len(taken)-1] == of[len(of)-1]-1 {
			taken, of = taken[:len(taken)-1], of[:len(of)-1]
		}
		if len(taken) == 0 {
			return orders
		}
		taken[len(taken)-1]++
	}
}
