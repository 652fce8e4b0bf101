// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// record is what a probe saw, in words that are the same for every kind: the names of the
// kind, of its field and of the namespace are replaced, versions and UIDs are numbered in
// the order in which they are first seen.
type record struct {
	subject  *subject
	lines    []string
	replacer *strings.Replacer
	symbols  map[string]string
	counts   map[string]int
	// detailed shows the default and the items too, which not every subject has.
	detailed bool
}

func newRecord(s *subject, namespace string) *record {
	// Where several match, the first wins.
	names := []string{
		namespace + "-", "", namespace, "NS",
		s.groupVersion(), "GROUP/VERSION",
		s.plural + "." + s.group, "RESOURCE.GROUP", s.singular + "." + s.group, "SINGULAR.GROUP", s.kind + "." + s.group, "KIND.GROUP",
		s.kind + "List", "KINDList", s.kind, "KIND", s.plural, "RESOURCE", s.group, "GROUP",
	}
	if !s.global {
		names = names[2:]
	}
	return &record{subject: s, replacer: strings.NewReplacer(names...), symbols: map[string]string{}, counts: map[string]int{}}
}

var (
	uuidPattern    = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	versionPattern = regexp.MustCompile(`((?i:version|current): |\()[0-9]+\b`)
	yamlLine       = regexp.MustCompile(`\bline [0-9]+`)
	excerpt        = regexp.MustCompile(`\(\{"apiVersion.*`)
	longName       = regexp.MustCompile(`a{20,}`)
	nameGenerated  = regexp.MustCompile(`(Bad_Name-|Not a name )[a-z0-9]{5}\b`)
	goField        = regexp.MustCompile(`Go struct field \S+ of type \S+`)
	goType         = regexp.MustCompile(`\(\*?\w+\.(KIND|UnstructuredList|Unstructured)(List)?\)`)
	wholeObject    = regexp.MustCompile(`Invalid value: "\{.*\}": `)
	inVersion      = regexp.MustCompile(`in version "\w+"`)
	storageKey     = regexp.MustCompile(`Key: \S+,`)
	timePattern    = regexp.MustCompile(`\b[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z`)
)

// text takes out of a message what differs from kind to kind and from run to run.
func (r *record) text(message string) string {
	message = uuidPattern.ReplaceAllString(message, "UID")
	message = timePattern.ReplaceAllString(message, "TIME")
	message = excerpt.ReplaceAllString(message, "(BODY)")
	message = r.replacer.Replace(message)
	message = yamlLine.ReplaceAllString(message, "line N")
	message = goType.ReplaceAllString(message, "(KIND)")
	// Only built-in kinds have a form in protobuf.
	message = strings.ReplaceAll(message, ", application/vnd.kubernetes.protobuf", "")
	message = wholeObject.ReplaceAllString(message, `Invalid value: "OBJECT": `)
	message = inVersion.ReplaceAllString(message, `in version "VERSION"`)
	message = storageKey.ReplaceAllString(message, "Key: KEY,")
	message = goField.ReplaceAllString(message, "Go struct field")
	message = strings.ReplaceAll(message, r.subject.field.String(), "FIELD")
	message = strings.ReplaceAll(message, r.subject.field.pointer(), "/FIELD")
	if r.subject.part != "" {
		message = strings.ReplaceAll(message, "RESOURCE/"+r.subject.part, "RESOURCE/PART")
		message = strings.ReplaceAll(message, `subresource "`+r.subject.part+`"`, `subresource "PART"`)
	}
	if r.subject.items != nil {
		message = strings.ReplaceAll(message, r.subject.items.String(), "ITEMS")
	}
	message = longName.ReplaceAllString(message, "aa…")
	message = nameGenerated.ReplaceAllString(message, "${1}GENERATED")
	return versionPattern.ReplaceAllString(message, "${1}NUMBER")
}

// texts does so everywhere in a value.
func (r *record) texts(value any) any {
	switch value := value.(type) {
	case string:
		return r.text(value)
	case []any:
		for i := range value {
			value[i] = r.texts(value[i])
		}
	case object:
		for key := range value {
			value[key] = r.texts(value[key])
		}
	}
	return value
}

// note adds a value to the record, under a heading.
func (r *record) note(heading string, value any) {
	leaves("", value, func(path string, leaf any) {
		r.lines = append(r.lines, fmt.Sprintf("%s: %s = %v", heading, path, leaf))
	})
}

// symbol numbers values of a sort, such as versions, in the order of their appearance.
func (r *record) symbol(sort, value string) string {
	if value == "" {
		return "none"
	}
	known, ok := r.symbols[sort+value]
	if !ok {
		r.counts[sort]++
		known = fmt.Sprintf("%s %d", sort, r.counts[sort])
		r.symbols[sort+value] = known
	}
	return known
}

// saw notes an answer: its code, type, warnings and, of an answer that is no object, what
// it says.
func (r *record) saw(step string, response *response) {
	GinkgoHelper()
	r.note(step, r.answer(response))
}

// sawObject notes an answer with the object in it.
func (r *record) sawObject(step string, response *response) {
	GinkgoHelper()
	answer := r.answer(response)
	if response.code < 300 {
		answer["object"] = r.shape(response.object())
	}
	r.note(step, answer)
}

func (r *record) answer(response *response) object {
	answer := object{"code": response.code, "type": response.header.Get("Content-Type")}
	if warnings := response.header.Values("Warning"); len(warnings) > 0 {
		said := make([]string, len(warnings))
		for i, warning := range warnings {
			said[i] = r.text(warning)
		}
		answer["warnings"] = said
	}
	body := response.object()
	switch {
	case body == nil:
		answer["text"] = r.text(string(response.body))
	case body["kind"] == "Status":
		answer["status"] = r.status(body)
	default:
		answer["kind"] = r.text(fmt.Sprintf("%v %v", body["apiVersion"], body["kind"]))
	}
	return answer
}

// status is a metav1.Status in general words.
func (r *record) status(status object) object {
	delete(status, "apiVersion")
	delete(status, "kind")
	if get(status, at("details.uid")) != nil {
		set(status, at("details.uid"), "set")
	}
	if get(status, at("metadata.resourceVersion")) != nil {
		set(status, at("metadata.resourceVersion"), "set")
	}
	if get(status, at("metadata.continue")) != nil {
		set(status, at("metadata.continue"), "set")
	}
	return r.texts(status).(object)
}

// sawInvalid notes a refusal of a field: which reasons are given for it, and for what else.
// What exactly is wrong is the kind's own affair.
func (r *record) sawInvalid(step string, response *response, field path) {
	GinkgoHelper()
	answer := r.answer(response)
	status, _ := answer["status"].(object)
	if status == nil {
		r.note(step, answer)
		return
	}
	answer["status"] = object{
		"reason": status["reason"], "status": status["status"], "code": status["code"],
		"kind": get(status, at("details.kind")), "group": get(status, at("details.group")), "name": get(status, at("details.name")),
		"causes":  r.causes(response, field),
		"message": beginning(status["message"]),
	}
	r.note(step, answer)
}

func (r *record) causes(response *response, field path) []string {
	var causes []string
	for _, cause := range r.differentCauses(response.object()) {
		where, _ := cause["field"].(string)
		if field.holds(where) {
			where = "the field"
		}
		causes = append(causes, fmt.Sprintf("%v of %s", cause["reason"], r.text(where)))
	}
	slices.Sort(causes)
	return slices.Compact(causes)
}

// differentCauses are the causes of a refusal, each once. Custom resources are validated in
// several rounds which say the same; and they add, with no field, that some rules could not
// be checked.
func (r *record) differentCauses(status object) []object {
	list, _ := get(status, at("details.causes")).([]any)
	var different []object
	seen := map[string]bool{}
	for _, item := range list {
		cause, _ := item.(object)
		text := encoded(cause)
		if seen[text] || r.subject.role == custom && cause["field"] == "<nil>" {
			continue
		}
		seen[text] = true
		different = append(different, cause)
	}
	return different
}

// beginning of a message, up to where the field is named.
func beginning(message any) string {
	text, _ := message.(string)
	first, _, _ := strings.Cut(text, " is invalid: ")
	return first
}

// encoded compares values whatever they were decoded from.
func encoded(value any) string {
	data, err := json.Marshal(value)
	Expect(err).NotTo(HaveOccurred())
	return string(data)
}
