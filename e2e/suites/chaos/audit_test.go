// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// event is what an audit log says of a write.
type event struct {
	Verb, RequestURI, UserAgent string
	SourceIPs                   []string
	ObjectRef                   objectRef
	ResponseStatus              status
	RequestObject               json.RawMessage
	ResponseObject              json.RawMessage
	// It happened between these two, if at all.
	RequestReceivedTimestamp, StageTimestamp time.Time
}

type (
	objectRef struct{ Resource, Subresource, Namespace, Name, APIGroup string }
	status    struct{ Code int }
)

// source is the address that it came from.
func (e *event) source() string {
	if len(e.SourceIPs) == 0 {
		return ""
	}
	return e.SourceIPs[len(e.SourceIPs)-1]
}

// nameless says that something was created of which the log does not have the name: the host does
// not look into what it passes on to another API server. Nothing that is there is changed by it.
func (e *event) nameless() bool { return e.Verb == "create" && e.ObjectRef.Name == "" }

func (e *event) dry() bool { return strings.Contains(e.RequestURI, "dryRun=All") }

// refused says that it changed nothing for certain.
func (e *event) refused() bool {
	return e.ResponseStatus.Code >= 400 && e.ResponseStatus.Code < 500
}

// succeeded says that it changed what it was to change for certain.
func (e *event) succeeded() bool { return e.ResponseStatus.Code/100 == 2 }

func (e *event) String() string {
	name := e.ObjectRef.Resource
	if e.ObjectRef.Subresource != "" {
		name += "/" + e.ObjectRef.Subresource
	}
	return fmt.Sprintf("%s %s %s/%s (%d) from %s to %s", e.Verb, name, e.ObjectRef.Namespace, e.ObjectRef.Name, e.ResponseStatus.Code,
		clock(e.RequestReceivedTimestamp), clock(e.StageTimestamp))
}

// readAudit reads an audit log, once all that was answered is in it: kube-apiserver writes an
// event when its request ends, so the one of a write that is made now comes last.
func readAudit(ctx context.Context, kube kubernetes.Interface, path, namespace string) []event {
	GinkgoHelper()
	marker := fmt.Sprintf("end-%d", time.Now().UnixNano())
	_ = kube.CoordinationV1().Leases(namespace).Delete(ctx, marker, metav1.DeleteOptions{}) // there is none
	var content []byte
	Eventually(ctx, func() (bool, error) {
		var err error
		content, err = os.ReadFile(path)
		return bytes.Contains(content, []byte(marker)), err
	}).Should(BeTrue())
	var events []event
	lines := bufio.NewScanner(bytes.NewReader(content))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		Expect(json.Unmarshal(lines.Bytes(), &e)).To(Succeed(), lines.Text())
		events = append(events, e)
	}
	Expect(lines.Err()).NotTo(HaveOccurred())
	return events
}
