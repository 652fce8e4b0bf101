// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/health"
)

const (
	// warningPatience is how long an object may be on its way before its events are read: most
	// get their pods in a moment.
	warningPatience = 5 * time.Second
	// warningInterval is how long it counts what events said.
	warningInterval = 30 * time.Second
	// warningsAtOnce is of how many objects the events are read in one pass. The others have to
	// wait for further ones: where very many objects get no pods, the first ones tell why.
	warningsAtOnce = 10
	// classInterval is how long it counts what a storage class said, and unknownClassInterval
	// when one is asked for again that could not be read, or is not there.
	classInterval        = 5 * time.Minute
	unknownClassInterval = time.Minute

	warningsKept, classesKept = 4096, 1024
)

// notes are what was read beside the objects of targets, for some time, and of so many at most.
type notes struct {
	warnings *lru.Cache // by warningKey
	mu       sync.Mutex
	classes  *lru.Cache // by classKey
}

func newNotes() *notes {
	return &notes{warnings: lru.New(warningsKept), classes: lru.New(classesKept)}
}

// warningKey names the events of an object as a Release may see them. A UID tells objects of one
// cluster apart only: whoever runs a target can give an object any. The server is in it as a
// Cluster may come to mean another one, the generations as the Release's identity may change.
type warningKey struct {
	cluster, release         types.NamespacedName
	clusterSpec, releaseSpec int64
	server                   string
	object                   types.UID
}

// warning is what the events of an object said.
type warning struct {
	text  string
	until time.Time
}

// classKey names a storage class. The server is in it as a Cluster may come to mean another one.
type classKey struct {
	cluster       types.NamespacedName
	server, class string
}

// storageClass is what a storage class said, once it is read.
type storageClass struct {
	read  sync.Once
	mode  string
	err   error // why it is not known
	until time.Time
}

// surroundings tell the judgements of one pass what lies beside the objects in their target.
// They are safe for concurrent use.
type surroundings struct {
	host    *Host
	release *corev1alpha1.Release
	target  *Target
	clock   clock.PassiveClock
	notes   *notes
	read    atomic.Int32 // of how many objects the events were
}

// surroundings are those for one pass over a Release.
func (c *HealthController) surroundings(release *corev1alpha1.Release, t *Target) *surroundings {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.notes == nil {
		c.notes = newNotes()
	}
	return &surroundings{host: &c.Host, release: release, target: t, clock: c.Clock, notes: c.notes}
}

// of gives the surroundings of an object that is not well since then. When something is told of
// them, until is set to when the first of it is to be asked for anew.
func (s *surroundings) of(ctx context.Context, live *unstructured.Unstructured, since func() time.Time, until *time.Time) health.Surroundings {
	told := func(at time.Time) {
		if until.IsZero() || at.Before(*until) {
			*until = at
		}
	}
	return health.Surroundings{
		VolumeBindingMode: func(class string) (string, error) {
			mode, at, err := s.bindingMode(ctx, class)
			told(at)
			return mode, err
		},
		Warning: func() string {
			text, at := s.warning(ctx, live, since())
			told(at)
			return text
		},
	}
}

// warning is why no pods can be made of an object that is not well since then, as its events
// have it, and until when that counts. They are read with the Release's identity, which tells
// who reads the Release no more than it may see. Without that right nothing is said.
func (s *surroundings) warning(ctx context.Context, live *unstructured.Unstructured, since time.Time) (text string, until time.Time) {
	now := s.clock.Now()
	if left := min(since.Add(warningPatience).Sub(now), warningPatience); left > 0 {
		return "", now.Add(left)
	}
	known := warning{}
	key := warningKey{
		cluster: s.target.name(), clusterSpec: s.target.Cluster.Generation, server: s.target.Server(),
		release: nameOf(s.release), releaseSpec: s.release.Generation, object: live.GetUID(),
	}
	if kept, ok := s.notes.warnings.Get(key); ok {
		known, _ = kept.(warning)
	}
	if now.Before(known.until) {
		return known.text, known.until
	}
	if s.read.Add(1) > warningsAtOnce {
		return known.text, now.Add(retryInterval)
	}
	if said, err := newestWarning(ctx, s.target.Dynamic(), live); err == nil {
		known.text = said
	}
	known.until = now.Add(warningInterval)
	s.notes.warnings.Add(key, known)
	return known.text, known.until
}

var storageClasses = schema.GroupVersionResource{Group: "storage.k8s.io", Version: "v1", Resource: "storageclasses"}

// bindingMode is that of a storage class of the target, or why it cannot be told, and until when
// that counts. It is read with the cluster's own identity, as watches are: classes are no Release's.
func (s *surroundings) bindingMode(ctx context.Context, name string) (mode string, until time.Time, err error) {
	class := s.class(classKey{cluster: s.target.name(), server: s.target.Server(), class: name})
	class.read.Do(func() {
		class.mode, class.err = s.readMode(ctx, name)
		if class.mode == "" {
			s.notes.mu.Lock()
			defer s.notes.mu.Unlock()
			class.until = s.clock.Now().Add(unknownClassInterval)
		}
	})
	s.notes.mu.Lock()
	defer s.notes.mu.Unlock()
	return class.mode, class.until, class.err
}

// class is what is kept of a storage class, or is to be read.
func (s *surroundings) class(key classKey) *storageClass {
	s.notes.mu.Lock()
	defer s.notes.mu.Unlock()
	now := s.clock.Now()
	if kept, ok := s.notes.classes.Get(key); ok {
		if class, ok := kept.(*storageClass); ok && now.Before(class.until) {
			return class
		}
	}
	class := &storageClass{until: now.Add(classInterval)}
	s.notes.classes.Add(key, class)
	return class
}

// The server's own words are not passed on: they name the Cluster's user, and who reads the Release need
// not know that.
var (
	errClassForbidden = errors.New("the credentials of the Cluster may not get storageclasses")
	errClassAbsent    = errors.New("there is none of this name")
	errClassUnread    = errors.New("the target cluster gave no answer about it")
)

func (s *surroundings) readMode(ctx context.Context, name string) (string, error) {
	connection, err := s.host.Connector.Connect(ctx, s.target.Cluster)
	if err != nil {
		return "", errClassUnread
	}
	ctx, cancel := context.WithTimeout(ctx, besideTimeout)
	defer cancel()
	class, err := connection.Dynamic().Resource(storageClasses).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err) || errors.Is(err, clusterconn.ErrForbidden):
		return "", errClassForbidden
	case apierrors.IsNotFound(err):
		return "", errClassAbsent
	case err != nil:
		return "", errClassUnread
	}
	mode, _, _ := unstructured.NestedString(class.Object, "volumeBindingMode")
	return mode, nil
}
