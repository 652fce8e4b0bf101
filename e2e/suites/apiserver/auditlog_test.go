// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bufio"
	"encoding/json"
	"os"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// auditPolicy of convoy-apiserver: bodies too, where it is a subresource that writes.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: RequestResponse
  resources:
  - group: core.convoy.kumodo.io
    resources: [releases/sync, releases/pin, releases/mutations, releases/lifecycle]
- level: Metadata
`

// event is what an audit log says of a request.
type event struct {
	AuditID, Stage, Verb, RequestURI string
	User                             struct {
		Username string
		Groups   []string
	}
	ImpersonatedUser *struct{ Username string }
	ObjectRef        struct{ Resource, Subresource, Namespace, Name, APIGroup, APIVersion string }
	ResponseStatus   struct{ Code int }
	RequestObject    json.RawMessage
	ResponseObject   json.RawMessage
	Annotations      map[string]string
	StageTimestamp   time.Time
}

// readAudit reads an audit log. A last line that is being written is left out.
func readAudit(path string) []event {
	GinkgoHelper()
	file, err := os.Open(path)
	Expect(err).NotTo(HaveOccurred())
	defer file.Close()
	var events []event
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) == nil {
			events = append(events, e)
		}
	}
	Expect(lines.Err()).NotTo(HaveOccurred())
	return events
}

// find returns the events that match.
func find(events []event, match func(event) bool) []event {
	var found []event
	for _, e := range events {
		if match(e) {
			found = append(found, e)
		}
	}
	return found
}
