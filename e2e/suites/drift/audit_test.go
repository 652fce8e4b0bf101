// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// request is what somebody asked of the target, as its audit log has it.
type request struct {
	Verb, UserAgent, RequestURI string
	ObjectRef                   struct{ APIGroup, Resource, Subresource, Namespace, Name string }
}

func (r request) dryRun() bool { return strings.Contains(r.RequestURI, "dryRun=All") }

func (r request) writes() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.Verb) && !r.dryRun()
}

// object is what a request is about.
type object struct {
	schema.GroupResource
	namespace, name string
}

func (r request) object() object {
	o := object{schema.GroupResource{Group: r.ObjectRef.APIGroup, Resource: r.ObjectRef.Resource}, r.ObjectRef.Namespace, r.ObjectRef.Name}
	if o.Resource == "namespaces" {
		o.namespace = "" // the log has a namespace in itself
	}
	return o
}

// moment is a place in the target's audit log.
type moment int64

var markers atomic.Int64

func auditLog() string { return filepath.Join(suite.Dir, "edge", "audit.log") }

// now gives the end of the audit log: all that was answered before is in front of it.
func now(ctx context.Context) moment {
	GinkgoHelper()
	marker := fmt.Sprintf("audit-marker-%d", markers.Add(1))
	_, _ = suite.TargetClient.CoreV1().ConfigMaps("default").Get(ctx, marker, metav1.GetOptions{})
	var end moment
	Eventually(ctx, func() (bool, error) {
		data, err := os.ReadFile(auditLog())
		end = moment(len(data))
		return bytes.Contains(data, []byte(marker)), err
	}).Should(BeTrue())
	return end
}

// requests gives what a program asked since a moment.
func requests(ctx context.Context, userAgent string, since moment) []request {
	GinkgoHelper()
	now(ctx)
	file, err := os.Open(auditLog())
	Expect(err).NotTo(HaveOccurred())
	defer file.Close()
	_, err = file.Seek(int64(since), io.SeekStart)
	Expect(err).NotTo(HaveOccurred())
	data, err := io.ReadAll(file)
	Expect(err).NotTo(HaveOccurred())
	var found []request
	for line := range bytes.Lines(data) {
		var r request
		if bytes.Contains(line, []byte(userAgent)) && json.Unmarshal(line, &r) == nil && strings.HasPrefix(r.UserAgent, userAgent) {
			found = append(found, r)
		}
	}
	return found
}

// writes gives what convoy wrote since a moment, as "patch configmaps/a".
func writes(ctx context.Context, since moment) []string {
	GinkgoHelper()
	list := []string{}
	for _, r := range requests(ctx, "convoy-", since) {
		if r.writes() {
			list = append(list, fmt.Sprintf("%s %s/%s", r.Verb, r.ObjectRef.Resource, r.ObjectRef.Name))
		}
	}
	return list
}
