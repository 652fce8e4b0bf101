// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
)

const (
	// besideTimeout bounds a read of what lies beside an object.
	besideTimeout = 10 * time.Second
	// eventsRead is how many events of an object are read. Kubernetes lets a component write
	// some forty in the hour for which they are kept.
	eventsRead = 100
)

var events = corev1.SchemeGroupVersion.WithResource("events")

// newestWarning gives the reason and the message of the newest warning about an object, nothing
// when there is none or something else happened since: then what it was about is over.
func newestWarning(ctx context.Context, client dynamic.Interface, object *unstructured.Unstructured) (string, error) {
	if object.GetUID() == "" {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, besideTimeout)
	defer cancel()
	list, err := client.Resource(events).Namespace(object.GetNamespace()).List(ctx, metav1.ListOptions{
		FieldSelector: "involvedObject.uid=" + string(object.GetUID()), Limit: eventsRead,
	})
	if err != nil {
		return "", err
	}
	known := make([]corev1.Event, 0, len(list.Items))
	for _, item := range list.Items {
		var event corev1.Event
		if runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &event) == nil {
			known = append(known, event)
		}
	}
	if len(known) == 0 {
		return "", nil
	}
	newest := slices.MaxFunc(known, newer)
	if newest.Type != corev1.EventTypeWarning {
		return "", nil
	}
	return warningText(newest.Reason, newest.Message, object.GetName()), nil
}

// newer orders events by when they happened last. Times of most are in whole seconds: of those
// of one second, a warning counts.
func newer(a, b corev1.Event) int {
	warns := func(event corev1.Event) int {
		if event.Type == corev1.EventTypeWarning {
			return 1
		}
		return 0
	}
	return cmp.Or(happened(a).Compare(happened(b)), cmp.Compare(warns(a), warns(b)), cmp.Compare(a.Name, b.Name))
}

func happened(event corev1.Event) time.Time {
	last := event.EventTime.Time
	if event.Series != nil {
		last = event.Series.LastObservedTime.Time
	}
	if event.LastTimestamp.After(last) {
		last = event.LastTimestamp.Time
	}
	return last.Truncate(time.Second)
}

// podName finds the names of pods in the answers of API servers.
var podName = regexp.MustCompile(`\bpods "([^"]*)"`)

// warningText is a warning in one line, which is the same each time something fails for the same
// cause: the names of pods that were to be made are new ones each time.
func warningText(reason, message, owner string) string {
	message = strings.TrimPrefix(strings.Join(strings.Fields(message), " "), "(combined from similar events): ")
	message = podName.ReplaceAllStringFunc(message, func(found string) string {
		if strings.HasPrefix(found, `pods "`+owner+"-") {
			return `pods "` + owner + `-…"`
		}
		return found
	})
	if message == "" {
		return reason
	}
	return reason + ": " + message
}
