// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/lru"
)

const (
	// answersPerSecond and answersAtOnce are how many different questions of one user are
	// answered. Equal ones that are asked together count once.
	answersPerSecond, answersAtOnce = 20, 200
	// rememberedUsers is how many users that is counted for.
	rememberedUsers = 4096
)

// callerOf is who a request is made for, as convoy-apiserver says. It is believed on a
// connection only whose client has shown a certificate; the zero value is nobody known.
func callerOf(req *http.Request) rest.ImpersonationConfig {
	if req.TLS == nil || len(req.TLS.VerifiedChains) == 0 {
		return rest.ImpersonationConfig{}
	}
	caller := rest.ImpersonationConfig{
		UserName: req.Header.Get("X-Remote-User"), UID: req.Header.Get("X-Remote-Uid"), Groups: req.Header.Values("X-Remote-Group"),
	}
	const prefix = "X-Remote-Extra-"
	for name, values := range req.Header {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		if caller.Extra == nil {
			caller.Extra = map[string][]string{}
		}
		key := strings.ToLower(name[len(prefix):])
		if plain, err := url.PathUnescape(key); err == nil {
			key = plain
		}
		caller.Extra[key] = values
	}
	return caller
}

// identityOf tells apart whom targets are read as. Bounds are those of a user's name, whose
// identities may be many: each token of a service account has an extra of its own.
func identityOf(caller rest.ImpersonationConfig) string {
	caller.Groups = slices.Sorted(slices.Values(caller.Groups))
	data, err := json.Marshal(caller)
	if err != nil {
		return caller.UserName
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// rates bounds how many answers are made for one user in a time.
type rates struct {
	mu    sync.Mutex
	users *lru.Cache // flowcontrol.PassiveRateLimiter by user
}

func newRates() *rates { return &rates{users: lru.New(rememberedUsers)} }

// admit counts an answer for a user; the error is one of too many requests. Nobody in
// particular is not counted.
func (r *rates) admit(user string) error {
	if user == "" {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.users.Get(user)
	if !ok {
		known = flowcontrol.NewTokenBucketPassiveRateLimiter(answersPerSecond, answersAtOnce)
		r.users.Add(user, known)
	}
	if !known.(flowcontrol.PassiveRateLimiter).TryAccept() {
		return tooMany("%d answers in a second are given to one user", answersPerSecond)
	}
	return nil
}

// requests counts the requests of a process, and of each user, which all cost a connection,
// whatever they wait for.
type requests struct {
	mu     sync.Mutex
	all    int
	byUser map[string]int
}

const (
	// maxRequests is how many requests are there at a time; half of them are one user's.
	maxRequests = 4096
)

// enter counts a request, and leave counts it out. The error is one of too many requests.
func (r *requests) enter(user string) (leave func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.all >= maxRequests:
		return nil, tooMany("%d requests are here already", r.all)
	case user != "" && r.byUser[user] >= maxRequests/2:
		return nil, tooMany("%d requests of one user are here already", r.byUser[user])
	}
	r.all++
	if user != "" {
		if r.byUser == nil {
			r.byUser = map[string]int{}
		}
		r.byUser[user]++
	}
	return func() { r.leave(user) }, nil
}

func (r *requests) leave(user string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all--
	if user == "" {
		return
	}
	if r.byUser[user]--; r.byUser[user] == 0 {
		delete(r.byUser, user)
	}
}
