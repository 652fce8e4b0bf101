// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"
)

// largest is the most that a stored render may take when it is decompressed.
const largest = 512 << 20

// encrypted is how an age file begins.
var encrypted = []byte("age-encryption.org/")

// encode gives the bytes of a record: JSON, compressed, then encrypted when there are
// recipients.
func encode(r Record, recipients []age.Recipient) ([]byte, error) {
	stored, err := toRecord(r)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(stored)
	if err != nil {
		return nil, err
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	compressed := encoder.EncodeAll(text, nil)
	if len(recipients) == 0 {
		return compressed, nil
	}
	var sealed bytes.Buffer
	writer, err := age.Encrypt(&sealed, recipients...)
	if err != nil {
		return nil, err
	}
	if _, err := writer.Write(compressed); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return sealed.Bytes(), nil
}

// decode reads what encode wrote, encrypted or not.
func decode(content []byte, identities []age.Identity) (Record, error) {
	if bytes.HasPrefix(content, encrypted) {
		var err error
		if content, err = decrypt(content, identities); err != nil {
			return Record{}, err
		}
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(largest))
	if err != nil {
		return Record{}, err
	}
	defer decoder.Close()
	text, err := decoder.DecodeAll(content, nil)
	if err != nil {
		return Record{}, fmt.Errorf("decompressing: %w: %w", err, ErrCorrupt)
	}
	var stored record
	if err := json.Unmarshal(text, &stored); err != nil {
		return Record{}, fmt.Errorf("it is no JSON: %w", ErrCorrupt)
	}
	r, err := fromRecord(&stored)
	if err != nil {
		return Record{}, fmt.Errorf("%w: %w", err, ErrCorrupt)
	}
	return r, nil
}

func decrypt(content []byte, identities []age.Identity) ([]byte, error) {
	if len(identities) == 0 {
		return nil, fmt.Errorf("no age identity is given: %w", ErrNoIdentity)
	}
	reader, err := age.Decrypt(bytes.NewReader(content), identities...)
	var none *age.NoIdentityMatchError
	if errors.As(err, &none) {
		return nil, ErrNoIdentity
	}
	if err != nil {
		return nil, fmt.Errorf("decrypting: %w: %w", err, ErrCorrupt)
	}
	opened, err := io.ReadAll(reader)
	if err != nil {
		return nil, fmt.Errorf("decrypting: %w: %w", err, ErrCorrupt)
	}
	return opened, nil
}
