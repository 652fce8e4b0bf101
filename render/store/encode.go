// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"
)

// largest is the most that a render may take as JSON.
const largest = 512 << 20

// largestStored is the most that a render may take as it is stored: what does not compress
// gets larger by little, and has a head.
func largestStored(largest int64) int64 { return largest + largest>>6 + 64<<10 }

// encrypted is how an age file begins.
var encrypted = []byte("age-encryption.org/")

// encode gives the bytes of a record: JSON, compressed, then encrypted when there are
// recipients. largest is the most that it may take as JSON.
func encode(r Record, recipients []age.Recipient, largest int64) ([]byte, error) {
	stored, err := toRecord(r)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(stored)
	if err != nil {
		return nil, err
	}
	text = withChecksum(text)
	if int64(len(text)) > largest {
		return nil, fmt.Errorf("it has %d bytes as JSON, %d are the most: %w", len(text), largest, ErrTooLarge)
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
func decode(content []byte, identities []age.Identity, largest int64) (Record, error) {
	if bytes.HasPrefix(content, encrypted) {
		var err error
		if content, err = decrypt(content, identities); err != nil {
			return Record{}, err
		}
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(largest)))
	if err != nil {
		return Record{}, err
	}
	defer decoder.Close()
	text, err := decoder.DecodeAll(content, nil)
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		return Record{}, ErrTooLarge
	}
	if err != nil {
		return Record{}, fmt.Errorf("decompressing: %w: %w", err, ErrCorrupt)
	}
	var stored record
	if err := json.Unmarshal(text, &stored); err != nil {
		return Record{}, fmt.Errorf("it is no JSON: %w", ErrCorrupt)
	}
	if stored.Checksum != "" && !bytes.Equal(text, withChecksum(withoutChecksum(text, stored.Checksum))) {
		return Record{}, fmt.Errorf("its checksum is that of something else: %w", ErrCorrupt)
	}
	r, err := fromRecord(&stored)
	if err != nil {
		return Record{}, fmt.Errorf("%w: %w", err, ErrCorrupt)
	}
	return r, nil
}

// withChecksum adds to a JSON object, as its last field, the checksum of the object's text: of
// bytes rather than of values, which another version may write in another way.
func withChecksum(text []byte) []byte {
	return append(bytes.TrimSuffix(text, []byte("}")), checksumField(sumOf(text))...)
}

// withoutChecksum takes off what withChecksum added.
func withoutChecksum(text []byte, checksum string) []byte {
	return append(bytes.Clone(bytes.TrimSuffix(text, []byte(checksumField(checksum)))), '}')
}

// sumOf is the digest of what is stored.
func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func checksumField(checksum string) string { return `,"checksum":"` + checksum + `"}` }

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
