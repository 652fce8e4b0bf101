// SPDX-License-Identifier: Apache-2.0

package conformance

import "strings"

// references are kinds whose behaviour is taken for right.
func references() []*subject {
	return []*subject{deployment(), policy(), widget(false), widget(true)}
}

func deployment() *subject {
	labels := object{"app": "a"}
	return &subject{
		role: builtin, group: "apps", version: "v1", kind: "Deployment", plural: "deployments", singular: "deployment", shortName: "deploy",
		spec: func(string) object {
			return object{
				"selector": object{"matchLabels": labels},
				"template": object{
					"metadata": object{"labels": labels},
					"spec":     object{"containers": []any{object{"name": "main", "image": "a"}}},
				},
			}
		},
		field: at("spec.replicas"), values: [3]any{2, 3, 4}, invalid: -1, wrongType: "x",
		required: at("spec.template.spec.containers"),
		enum:     at("spec.template.spec.dnsPolicy"), defaultValue: "ClusterFirst",
		fixed: at("spec.selector"),
		fixedPatch: object{"spec": object{
			"selector": object{"matchLabels": object{"app": "b"}},
			"template": object{"metadata": object{"labels": object{"app": "b"}}},
		}},
		items: at("spec.template.spec.containers"), itemValue: "image",
		build:   func(name, value string) object { return object{"name": name, "image": value} },
		spelled: at("spec.template.spec.containers"), given: container("0.5"), stored: container("500m"),
		flag: at("spec.paused"), optional: at("spec.template.spec.volumes"),
	}
}

// container is the list of the one container, with a limit.
func container(cpu string) []any {
	return []any{object{"name": "main", "image": "a", "resources": object{"limits": object{"cpu": cpu}}}}
}

// policy is a built-in kind of the whole cluster that has a status. Without a binding it
// does nothing, and what writes its status does not run.
func policy() *subject {
	param := func(kind string) object { return object{"apiVersion": "v1", "kind": kind} }
	return &subject{
		role: builtin, group: "admissionregistration.k8s.io", version: "v1",
		kind: "ValidatingAdmissionPolicy", plural: "validatingadmissionpolicies", singular: "validatingadmissionpolicy", global: true,
		spec: func(string) object {
			return object{
				"matchConstraints": object{"resourceRules": []any{object{"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "operations": []any{"CREATE"}, "resources": []any{"nothing"}}}},
				"validations":      []any{object{"expression": "true"}},
			}
		},
		field: at("spec.paramKind"), values: [3]any{param("Secret"), param("Node"), param("Pod")}, invalid: param("no kind"), wrongType: "x",
		required: at("spec.matchConstraints"),
		enum:     at("spec.failurePolicy"), defaultValue: "Fail",
		items: at("spec.matchConditions"), itemValue: "expression",
		build: func(name, value string) object { return object{"name": name, "expression": "'" + value + "' == ''"} },
	}
}

// widget is a kind of testdata/crds.yaml.
func widget(global bool) *subject {
	s := &subject{
		role: custom, group: "conformance.convoy.test", version: "v1", kind: "Widget", plural: "widgets", singular: "widget", shortName: "wdg",
		spec:  func(string) object { return object{"ref": "a"} },
		field: at("spec.count"), values: [3]any{1, 2, 3}, invalid: -1, wrongType: "x",
		required: at("spec.ref"),
		enum:     at("spec.policy"), defaultValue: "keep",
		fixed: at("spec.ref"), fixedPatch: object{"spec": object{"ref": "b"}},
		items: at("spec.items"), itemValue: "value",
		build: func(name, value string) object { return object{"name": name, "value": value} },
		free:  at("spec.free"),
	}
	if global {
		s.global, s.kind, s.plural, s.singular, s.shortName = true, "GlobalWidget", "globalwidgets", "globalwidget", "gwdg"
	}
	return s
}

// convoyKinds are the kinds under test. Release has all that a kind can have, and stands
// first.
func convoyKinds() []*subject {
	return []*subject{
		release(), cluster(), inventory(),
		source("GitRepository", "gitrepositories", "cgit", "https://127.0.0.1/x.git", at("spec.provider"), "generic"),
		source("HelmRegistry", "helmregistries", "chelm", "https://127.0.0.1/x", nil, nil),
		source("OCIRegistry", "ociregistries", "coci", "oci://127.0.0.1/x", at("spec.provider"), "generic"),
		ruleSet(false), ruleSet(true),
	}
}

func convoyKind(group, kind, plural, singular, shortName string) *subject {
	return &subject{
		role: ours, group: group + ".convoy.kumodo.io", version: "v1alpha1",
		kind: kind, plural: plural, singular: singular, shortName: shortName,
	}
}

func release() *subject {
	s := convoyKind("core", "Release", "releases", "release", "rel")
	s.spec = func(string) object {
		return object{
			"clusterRef": object{"name": "none"},
			"source":     object{"git": object{"repositoryRef": object{"name": "none"}}},
		}
	}
	s.field, s.values, s.invalid, s.wrongType = at("spec.wave"), [3]any{1, 2, 3}, 1_000_000, "x"
	s.required = at("spec.clusterRef.name")
	s.enum, s.defaultValue = at("spec.deletionPolicy"), "delete"
	s.fixed, s.fixedPatch = at("spec.clusterRef.name"), object{"spec": object{"clusterRef": object{"name": "other"}}}
	s.items, s.itemValue = at("spec.dependsOn"), "readyExpr"
	s.build = func(name, value string) object { return object{"name": name, "readyExpr": "'" + value + "' == ''"} }
	s.spelled, s.given, s.stored = at("spec.sync.interval"), "90s", "1m30s"
	s.flag, s.optional, s.free = at("spec.suspend"), at("spec.dependsOn"), at("spec.render.helm.values")
	return s
}

func cluster() *subject {
	s := convoyKind("core", "Cluster", "clusters", "cluster", "ccl")
	s.spec = func(string) object {
		return object{"impersonate": object{"serviceAccount": object{"namespace": "a", "name": "a"}}}
	}
	s.field, s.values, s.invalid, s.wrongType = at("spec.qps"), [3]any{1, 2, 3}, -1, "x"
	s.required = at("spec.impersonate.serviceAccount.name")
	s.enum, s.defaultValue = at("spec.mode"), "inCluster"
	s.flag = at("spec.suspend")
	return s
}

func inventory() *subject {
	s := convoyKind("core", "ReleaseInventory", "releaseinventories", "releaseinventory", "relinv")
	s.spec = func(name string) object { return object{"releaseRef": object{"name": name, "uid": "u"}} }
	entries := func(kind string) []any {
		return []any{object{"version": "v1", "kind": kind, "name": "a"}}
	}
	s.field, s.values, s.invalid, s.wrongType = at("spec.entries"), [3]any{entries("A"), entries("B"), entries("C")}, entries("no kind"), "x"
	s.required = at("spec.releaseRef.uid")
	return s
}

func source(kind, plural, shortName, url string, enum path, defaultValue any) *subject {
	s := convoyKind("source", kind, plural, strings.ToLower(kind), shortName)
	s.spec = func(string) object { return object{"url": url} }
	s.field, s.values, s.invalid, s.wrongType = at("spec.timeout"), [3]any{"1m1s", "1m2s", "1m3s"}, "1h0m1s", 7
	s.required = at("spec.url")
	s.enum, s.defaultValue = enum, defaultValue
	s.spelled, s.given, s.stored = at("spec.interval"), "90s", "1m30s"
	s.flag = at("spec.suspend")
	return s
}

func ruleSet(global bool) *subject {
	s := convoyKind("extensions", "HealthRuleSet", "healthrulesets", "healthruleset", "chrs")
	if global {
		s = convoyKind("extensions", "GlobalHealthRuleSet", "globalhealthrulesets", "globalhealthruleset", "cghrs")
		s.global = true
	}
	rules := func(healthy string) []any {
		return []any{object{"name": "r", "target": object{"kind": "Nothing"}, "healthy": healthy}}
	}
	s.spec = func(string) object { return object{"rules": rules("true")} }
	s.field, s.values, s.invalid, s.wrongType = at("spec.rules"), [3]any{rules("1 < 2"), rules("2 < 3"), rules("3 < 4")}, rules("("), "x"
	s.managed = `spec.rules[{"name":"r"}].healthy`
	return s
}
