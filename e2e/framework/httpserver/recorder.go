// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"net/http"
	"sync"
)

// Request is what a Recorder keeps of an answered request.
type Request struct {
	Method, Path string
	Status       int
}

// Recorder remembers every request that passed through its handler. It grows
// without bound and is meant for tests. The zero value is ready; it is safe for
// concurrent use.
type Recorder struct {
	mu       sync.Mutex
	requests []Request
}

// Handler records what next answers.
func (r *Recorder) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		status := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		method, path := request.Method, request.URL.Path
		defer func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.requests = append(r.requests, Request{Method: method, Path: path, Status: status.status})
		}()
		next.ServeHTTP(status, request)
	})
}

// Count returns how many recorded requests match.
func (r *Recorder) Count(match func(Request) bool) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	count := 0
	for _, request := range r.requests {
		if match(request) {
			count++
		}
	}
	return count
}

// Reset forgets all requests.
func (r *Recorder) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = nil
}

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the writer beneath.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
