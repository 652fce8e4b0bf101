// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"slices"
	"strings"
)

// shardLabel is set on convoy's objects by the API server, which is its business alone.
const shardLabel = "convoy.kumodo.io/shard"

// shape is an object in general words: its metadata, and of spec and status what the
// subject's description knows.
func (r *record) shape(o object) object {
	if o == nil {
		return nil
	}
	meta, _ := o["metadata"].(object)
	return object{
		"kind":     r.text(fmt.Sprintf("%v %v", o["apiVersion"], o["kind"])),
		"metadata": r.metadata(meta),
		"spec":     r.specShape(o),
		"status":   r.statusShape(o),
	}
}

// metadata leaves out managed fields, which managers shows.
func (r *record) metadata(meta object) object {
	shown := object{}
	for key, value := range meta {
		switch key {
		case "managedFields":
		case "resourceVersion":
			shown[key] = r.symbol("version", fmt.Sprint(value))
		case "uid":
			shown[key] = r.symbol("object", fmt.Sprint(value))
		case "creationTimestamp", "deletionTimestamp":
			shown[key] = "set"
		case "labels":
			if labels := r.labels(value); len(labels) > 0 {
				shown[key] = labels
			}
		default:
			shown[key] = r.texts(value)
		}
	}
	return shown
}

func (r *record) labels(value any) object {
	labels, _ := value.(object)
	shown := object{}
	for key, value := range labels {
		if key != shardLabel && key != probeLabel {
			shown[key] = value
		}
	}
	return shown
}

func (r *record) specShape(o object) object {
	shown := object{"field": r.fieldValue(o)}
	if r.detailed && r.subject.items != nil {
		shown["items"] = r.itemNames(o)
	}
	return shown
}

func (r *record) hasDefault(o object) bool {
	return encoded(get(o, r.subject.enum)) == encoded(r.subject.defaultValue)
}

// fieldValue says which of its values the field has.
func (r *record) fieldValue(o object) string {
	value := get(o, r.subject.field)
	for i, known := range r.subject.values {
		if encoded(value) == encoded(known) {
			return fmt.Sprintf("value %d", i+1)
		}
	}
	return "another"
}

// itemNames are the names of the items that the suite gave.
func (r *record) itemNames(o object) []string {
	list, _ := get(o, r.subject.items).([]any)
	names := []string{}
	for _, entry := range list {
		item, _ := entry.(object)
		if name := fmt.Sprint(item["name"]); name != "main" {
			names = append(names, name)
		}
	}
	return names
}

func (r *record) statusShape(o object) object {
	shown := object{}
	if r.subject.part != "" {
		return shown // the part is shown as the field
	}
	if generation := get(o, observedGeneration); generation != nil {
		shown["observedGeneration"] = generation
	}
	list, _ := get(o, conditions).([]any)
	for _, entry := range list {
		condition, _ := entry.(object)
		shown[fmt.Sprint("condition ", condition["type"])] = condition["status"]
	}
	return shown
}

// sawManagers notes who manages what.
func (r *record) sawManagers(step string, response *response) {
	r.note(step, r.managers(response.object()))
}

func (r *record) managers(o object) []string {
	list, _ := get(o, at("metadata.managedFields")).([]any)
	shown := []string{}
	for _, item := range list {
		entry, _ := item.(object)
		timed := "without time"
		if entry["time"] != nil {
			timed = "timed"
		}
		owned := r.owned(entry["fieldsV1"])
		if r.subject.part != "" && len(owned) == 0 {
			continue // of a part of another form than the rest have
		}
		subresource := entry["subresource"]
		if r.subject.part != "" && subresource == r.subject.part {
			subresource = "PART"
		}
		shown = append(shown, fmt.Sprintf("%v %v %v %v %v %s: %s", entry["manager"], entry["operation"], subresource,
			r.text(fmt.Sprint(entry["apiVersion"])), entry["fieldsType"], timed, strings.Join(owned, " ")))
	}
	slices.Sort(shown)
	return shown
}

// owned lists the fields of an entry: those of metadata and status by name, those of the
// spec that the subject knows in general words, and nothing of the rest of the spec.
func (r *record) owned(fields any) []string {
	set, _ := fields.(object)
	var shown []string
	flatten(set, "", func(name string) {
		switch {
		case name == "metadata.labels."+probeLabel:
		case r.subject.field.holds(name):
			if r.subject.managed == "" || r.subject.managed == name {
				shown = append(shown, "FIELD")
			}
		case r.detailed && r.subject.enum.known() && r.subject.enum.holds(name):
			shown = append(shown, "DEFAULT")
		case r.detailed && r.subject.items.known() && r.subject.items.holds(name):
			if item := r.itemOf(name); item != "" {
				shown = append(shown, item)
			}
		case !strings.HasPrefix(name, "spec"):
			shown = append(shown, name)
		}
	})
	slices.Sort(shown)
	return slices.Compact(shown)
}

// itemOf names the item that a field belongs to, and its value if that is the field. The
// item with which the object came is left out, and so are the values that a kind adds.
func (r *record) itemOf(name string) string {
	rest := strings.TrimPrefix(name, r.subject.items.String())
	key, field, _ := strings.Cut(strings.TrimPrefix(rest, "["), "]")
	if key == "" || strings.Contains(key, `"main"`) {
		return ""
	}
	switch field {
	case "":
		return "ITEM " + key
	case "." + r.subject.itemValue:
		return "VALUE OF " + key
	}
	return ""
}

// known tells whether the subject has that field.
func (p path) known() bool { return len(p) > 0 }

// flatten visits every field of a set of managed fields, written with dots and brackets.
func flatten(fields object, above string, visit func(string)) {
	if len(fields) == 0 && above != "" {
		visit(above)
	}
	for key, value := range fields {
		below, _ := value.(object)
		kind, name, _ := strings.Cut(key, ":")
		switch {
		case key == ".": // that there is something at all
		case kind == "f":
			flatten(below, strings.TrimPrefix(above+"."+name, "."), visit)
		default:
			flatten(below, above+"["+name+"]", visit)
		}
	}
}
