// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"sync/atomic"
)

// asked is true when a build has asked for something remote.
var asked atomic.Bool

var errRemote = errors.New("the configuration of a generator, transformer or validator, as other files make it, refers to something remote: " +
	"remote references are not followed; bring the content into the source")

// Confine takes from this process what the library follows references to other hosts with: it is
// for processes that do nothing but render.
func Confine() {
	http.DefaultTransport = offline{}
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, refuse() }}
	_ = os.Setenv("PATH", "") // there is no git, nor anything else to be run
}

func refuse() error {
	asked.Store(true)
	return errRemote
}

// offline is a transport that goes nowhere.
type offline struct{}

func (offline) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return nil, refuse()
}
