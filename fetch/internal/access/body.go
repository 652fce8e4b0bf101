// SPDX-License-Identifier: Apache-2.0

package access

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"kumodo.io/convoy/fetch/internal/fault"
)

// Limited reads at most limit bytes from r; what exceeds them is fault.ErrLimit. what names
// what is read, and wayOut, if there is one, says what to do about it.
func Limited(r io.Reader, limit int64, what, wayOut string) io.Reader {
	text := what + " has more than " + fault.Size(limit)
	if wayOut != "" {
		text += ". " + wayOut
	}
	return &limited{r: io.LimitedReader{R: r, N: limit + 1}, text: text}
}

type limited struct {
	r    io.LimitedReader
	text string
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.r.N <= 0 {
		return max(0, n-1), fault.New(fault.ErrLimit, "%s", l.text)
	}
	return n, err
}

// ReadAll reads at most limit bytes.
func ReadAll(r io.Reader, size, limit int64, what string) ([]byte, error) {
	if size > limit {
		return nil, fault.New(fault.ErrLimit, "%s has %s; %s are accepted", what, fault.Size(size), fault.Size(limit))
	}
	var b bytes.Buffer
	// The size is the server's claim: memory follows what really comes.
	b.Grow(int(min(max(size, 0), 1<<20)) + bytes.MinRead)
	_, err := b.ReadFrom(Limited(r, limit, what, ""))
	return b.Bytes(), err
}

// AcceptGzip lets the server compress the body, which Decoded then undoes.
func AcceptGzip(r *http.Request) { r.Header.Set("Accept-Encoding", "gzip") }

// Decoded returns the body of a response to a request with AcceptGzip.
func Decoded(response *http.Response) (io.Reader, error) {
	// The names of encodings are in whatever case; x-gzip is an older one.
	encoding := strings.TrimSpace(response.Header.Get("Content-Encoding"))
	if !strings.EqualFold(encoding, "gzip") && !strings.EqualFold(encoding, "x-gzip") {
		return response.Body, nil
	}
	r, err := gzip.NewReader(response.Body)
	if err != nil {
		return nil, fault.New(fault.ErrContent, "the server's answer is not compressed as it says")
	}
	return r, nil
}

// SpeaksHTTP recognises a server without TLS by the error of a request over HTTPS: the
// server answers a handshake with something else, plain HTTP or the text of an error, or
// nothing listens on the default port.
func SpeaksHTTP(u *url.URL, err error) bool {
	var header tls.RecordHeaderError
	return errors.Is(err, http.ErrSchemeMismatch) ||
		errors.As(err, &header) ||
		(u.Port() == "" && errors.Is(err, syscall.ECONNREFUSED))
}
