// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// auditEvent is what is looked at of a line of an audit log.
type auditEvent struct {
	AuditID, Stage, Level, Verb, RequestURI, UserAgent string

	User             auditUser
	ImpersonatedUser *auditUser
	ObjectRef        object
	ResponseStatus   object
	Annotations      map[string]string
}

type auditUser struct {
	Username, UID string
	Groups        []string
	Extra         map[string][]string
}

// auditEvents reads a log and returns the finished requests of the probe's namespace.
func (p *probe) auditEvents(log string) []auditEvent {
	GinkgoHelper()
	data, err := os.ReadFile(log)
	Expect(err).NotTo(HaveOccurred())
	var events []auditEvent
	for line := range bytes.Lines(data) {
		if !bytes.Contains(line, []byte(p.namespace)) || !bytes.Contains(line, []byte(p.plural)) {
			continue
		}
		var event auditEvent
		// The last line may be half written.
		if json.Unmarshal(line, &event) == nil && event.Stage == "ResponseComplete" && event.ObjectRef["resource"] == p.plural {
			events = append(events, event)
		}
	}
	return events
}

var _ = Describe("Audit", func() {
	table(behaviour{name: "of requests by the host and by the server behind it", of: onlyPrincipals, does: func(ctx context.Context, p *probe) {
		p.create(ctx, "a", withFinalizer)
		p.get(ctx, p.item("a"))
		p.get(ctx, p.item("nobody"))
		p.list(ctx)
		p.get(ctx, p.collection(), "watch=true", "timeoutSeconds=1", "fieldSelector=metadata.name=nobody")
		p.patch(ctx, p.item("a", "status"), mergePatch, containing(observedGeneration, 1))
		p.apply(ctx, "b", "me", p.object("b"))
		p.send(ctx, request{method: "DELETE", path: p.collection(), query: p.scope("dryRun=All")})
		p.remove(ctx, p.item("a"), nil)
		p.patch(ctx, p.item("a"), jsonPatch, []any{object{"op": "remove", "path": "/metadata/finalizers"}}, "fieldManager=last")
		hostLog := filepath.Join(suite.dir, "host", "audit.log")
		ownLog := hostLog
		if p.role == ours {
			ownLog = suite.convoyAuditLog
		}
		const requests = 10
		Eventually(ctx, func() int { return len(p.auditEvents(ownLog)) }).Should(Equal(requests))
		Eventually(ctx, func() int { return len(p.auditEvents(hostLog)) }).Should(Equal(requests))
		p.sawAudit("host", p.auditEvents(hostLog), false)
		p.sawAudit("own", p.auditEvents(ownLog), true)
		p.note("both by the same ids", slices.Equal(ids(p.auditEvents(hostLog)), ids(p.auditEvents(ownLog))))

		p.send(ctx, request{path: p.item("b"), header: map[string]string{
			"Impersonate-User": "someone", "Impersonate-Uid": "7", "Impersonate-Group": "system:masters", "Impersonate-Extra-Reason": "why not",
		}})
		Eventually(ctx, func() int { return len(p.auditEvents(ownLog)) }).Should(Equal(requests + 1))
		last := p.auditEvents(ownLog)[requests]
		if last.ImpersonatedUser != nil { // a server behind the host does not see who speaks for another
			last.User = *last.ImpersonatedUser
		}
		p.note("user as seen", object{"name": last.User.Username, "uid": last.User.UID, "groups": last.User.Groups, "extra": last.User.Extra["reason"], "code": last.ResponseStatus["code"]})
	}})
})

// sawAudit notes what a log tells of requests. What only a server knows that looks into
// bodies is told when it is the kind's own.
func (p *probe) sawAudit(step string, events []auditEvent, own bool) {
	for _, event := range events {
		delete(event.ObjectRef, "apiVersion")
		shown := object{
			"verb": event.Verb, "uri": p.text(event.RequestURI), "user": event.User.Username, "level": event.Level, "agent": event.UserAgent,
			"code": event.ResponseStatus["code"], "subresource": event.ObjectRef["subresource"], "namespace": p.texts(event.ObjectRef["namespace"]),
		}
		if own {
			shown["object"], shown["reason"] = p.texts(event.ObjectRef), event.ResponseStatus["reason"]
		}
		p.note(step, shown)
	}
}

func ids(events []auditEvent) []string {
	list := make([]string, len(events))
	for i, event := range events {
		list[i] = event.AuditID
	}
	slices.Sort(list)
	return list
}
