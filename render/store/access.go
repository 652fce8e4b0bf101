// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"io"
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

func (s *Store) write(ctx context.Context, key string, content []byte, onlyNew bool) error {
	bounded, limit := s.bounded(ctx, int64(len(content)))
	defer limit.end()
	err := s.bucket.WriteAll(bounded, key, content, &blob.WriterOptions{
		ContentType: "application/octet-stream", IfNotExist: onlyNew,
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

// read gives what is under a key, or errMissing.
func (s *Store) read(ctx context.Context, key string) ([]byte, error) {
	ctx, limit := s.bounded(ctx, 0)
	defer limit.end()
	reader, err := s.bucket.NewReader(ctx, key, nil)
	if err != nil {
		return nil, s.readFailure(ctx, key, err)
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

// beginning gives the first bytes of what is under a key, or errMissing.
func (s *Store) beginning(ctx context.Context, key string, length int) ([]byte, error) {
	ctx, limit := s.bounded(ctx, 0)
	defer limit.end()
	// Not a range, which services refuse of what is empty.
	reader, err := s.bucket.NewReader(ctx, key, nil)
	if err != nil {
		return nil, s.readFailure(ctx, key, err)
	}
	defer func() { _ = reader.Close() }()
	content, err := io.ReadAll(io.LimitReader(reader, int64(length)))
	if err != nil {
		return nil, s.failure(ctx, "reading "+key, err)
	}
	return content, nil
}

// readFailure tells an absent object from an absent place.
func (s *Store) readFailure(ctx context.Context, key string, err error) error {
	if !s.missing(err) {
		return s.failure(ctx, "reading "+key, err)
	}
	if there, asked := s.bucket.IsAccessible(ctx); asked == nil && !there {
		return fmt.Errorf("reading %s: %s does not exist, or may not be listed: %w", key, s.place.Name, ErrUnavailable)
	}
	return errMissing
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
