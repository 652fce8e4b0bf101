// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"gocloud.dev/blob"
)

// errMissing says that there is nothing under a key, at a place that is there.
var errMissing = errors.New("there is no such object")

// exists tells whether there is something under a key.
func (s *Store) exists(ctx context.Context, key string) (bool, error) {
	at, err := s.writtenAt(ctx, key)
	return !at.IsZero(), err
}

// writtenAt gives when what is under a key was written, by the clock of the place; zero when
// there is nothing.
func (s *Store) writtenAt(ctx context.Context, key string) (time.Time, error) {
	ctx, limit := s.bounded(ctx, 0)
	defer limit.end()
	attributes, err := s.bucket.Attributes(ctx, key)
	if err == nil {
		return attributes.ModTime, nil
	}
	if s.missing(err) {
		return time.Time{}, nil
	}
	return time.Time{}, s.failure(ctx, "looking for "+key, err)
}

// create writes what is not there yet. What is there stays.
func (s *Store) create(ctx context.Context, key string, content []byte) error {
	err := s.write(ctx, key, content, !s.unconditional.Load())
	if code, _ := s.explain(err); code == "NotImplemented" && !s.unconditional.Load() {
		// Content is what its key says: writing it twice does no harm either.
		s.unconditional.Store(true)
		err = s.write(ctx, key, content, false)
	}
	return err
}

// replace writes over what is there.
func (s *Store) replace(ctx context.Context, key string, content []byte) error {
	return s.write(ctx, key, content, false)
}

func (s *Store) write(ctx context.Context, key string, content []byte, onlyNew bool) error {
	bounded, limit := s.bounded(ctx, int64(len(content)))
	defer limit.end()
	err := s.bucket.WriteAll(bounded, key, content, &blob.WriterOptions{
		ContentType: "application/octet-stream", IfNotExist: onlyNew, BeforeWrite: private,
	})
	if err == nil {
		return nil
	}
	// A service that refuses to write what is there says so, or hangs up instead of reading a
	// long request to its end; and an answer may get lost. What is there now is what was to be
	// written, whoever wrote it. But it must be there, whatever the service says.
	if onlyNew && bounded.Err() == nil {
		if there, looking := s.exists(ctx, key); looking == nil && there {
			return nil
		}
	}
	return s.failure(bounded, "storing "+key, err)
}

// private leaves a file to its owner, whatever the umask is. Places that keep no files say
// themselves who may read.
func private(as func(any) bool) error {
	var file *os.File
	if !as(&file) {
		return nil
	}
	return file.Chmod(0o600)
}

// read gives what is under a key, or errMissing.
func (s *Store) read(ctx context.Context, key string) ([]byte, error) {
	content, err := s.look(ctx, key)
	if !errors.Is(err, errMissing) {
		return content, err
	}
	// An absent object is told from an absent place.
	ctx, limit := s.bounded(ctx, 0)
	defer limit.end()
	if there, asked := s.bucket.IsAccessible(ctx); asked == nil && !there {
		return nil, fmt.Errorf("reading %s: %s does not exist, or may not be listed: %w", key, s.place.Name, ErrUnavailable)
	}
	return nil, errMissing
}

// look is read for who writes next, or has just listed: an absent place shows then.
func (s *Store) look(ctx context.Context, key string) ([]byte, error) {
	ctx, limit := s.bounded(ctx, 0)
	defer limit.end()
	reader, err := s.bucket.NewReader(ctx, key, nil)
	if s.missing(err) {
		return nil, errMissing
	}
	if err != nil {
		return nil, s.failure(ctx, "reading "+key, err)
	}
	defer func() { _ = reader.Close() }()
	most := largestStored(s.largest)
	if reader.Size() > most {
		return nil, fmt.Errorf("%s in %s has %d bytes: %w", key, s.place.Name, reader.Size(), ErrTooLarge)
	}
	limit.timer.Reset(s.allowance(reader.Size()))
	content, err := io.ReadAll(io.LimitReader(reader, most))
	if err != nil {
		return nil, s.failure(ctx, "reading "+key, err)
	}
	return content, nil
}

// delete takes away what may be there.
func (s *Store) delete(ctx context.Context, key string) error {
	ctx, limit := s.bounded(ctx, 0)
	defer limit.end()
	if err := s.bucket.Delete(ctx, key); err != nil && !s.missing(err) {
		return s.failure(ctx, "deleting "+key, err)
	}
	return nil
}
