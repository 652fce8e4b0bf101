// SPDX-License-Identifier: Apache-2.0

// Package bundle writes what is handed to others for support: a compressed archive of objects and
// texts, from which secrets are taken out on the way in.
package bundle

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"kumodo.io/convoy/kubectl-convoy/internal/redact"
)

// longestLine bounds a line of a log; what is beyond is left out.
const longestLine = 64 << 10

// Writer writes a bundle. Nothing reaches it but through the methods that redact.
type Writer struct {
	folder string
	now    time.Time
	zip    *gzip.Writer
	tar    *tar.Writer
	// Failures are what could not be had; they become a file of their own.
	Failures []string
}

// New begins a bundle, in which all files lie below a folder.
func New(w io.Writer, folder string, now time.Time) *Writer {
	zip := gzip.NewWriter(w)
	return &Writer{folder: folder, now: now, zip: zip, tar: tar.NewWriter(zip)}
}

// Object adds an object, from which secrets are taken: it is changed.
func (w *Writer) Object(name string, object map[string]any) error {
	redact.Object(object)
	data, err := yaml.Marshal(object)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return w.add(name, data)
}

// Text adds a text, from which secrets are taken.
func (w *Writer) Text(name, text string) error { return w.add(name, []byte(redact.Text(text))) }

// Log adds a log, line by line as it comes.
func (w *Writer) Log(name string, from io.Reader) error {
	var log bytes.Buffer
	lines := bufio.NewReaderSize(from, longestLine)
	inKey := false // a private key has several lines
	for {
		line, more, err := lines.ReadLine()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			w.Fail(name, err)
			break
		}
		text := string(line)
		for more && err == nil {
			_, more, err = lines.ReadLine()
		}
		begins := strings.Contains(text, "PRIVATE KEY-----") && strings.Contains(text, "-----BEGIN")
		switch {
		case inKey:
			inKey = !strings.Contains(text, "-----END")
			continue
		case begins:
			inKey = !strings.Contains(text, "-----END")
		}
		log.WriteString(redact.Text(text) + "\n")
	}
	return w.add(name, log.Bytes())
}

// Fail notes what could not be had.
func (w *Writer) Fail(what string, err error) {
	w.Failures = append(w.Failures, what+": "+err.Error())
}

func (w *Writer) add(name string, data []byte) error {
	header := &tar.Header{Name: path.Join(w.folder, path.Clean("/"+name)), Mode: 0o600, Size: int64(len(data)), ModTime: w.now, Format: tar.FormatPAX}
	if err := w.tar.WriteHeader(header); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if _, err := w.tar.Write(data); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Close ends the bundle.
func (w *Writer) Close() error {
	var err error
	if len(w.Failures) > 0 {
		err = w.Text("errors.txt", strings.Join(w.Failures, "\n")+"\n")
	}
	return errors.Join(err, w.tar.Close(), w.zip.Close())
}
