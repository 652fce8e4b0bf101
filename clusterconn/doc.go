// SPDX-License-Identifier: Apache-2.0

// Package clusterconn turns a Cluster object into a connection: clients for dynamic and
// metadata requests, and the mapping of kinds to resources.
//
// What is shared, so that a cluster with a thousand Releases costs what one costs: one
// HTTP transport (TLS, HTTP/2 connections), one discovery cache and one rate limiter for
// each cluster, whatever identities use it. An identity is an impersonation on top.
// There is no limit of requests on convoy's side unless the Cluster sets qps.
//
// A cluster that does not answer holds nobody up for longer than seconds. Each has a circuit
// breaker, which all its connections share: once the cluster is found not to answer, what is
// under way ends and further requests fail at once (OutageError), until it is found to answer
// again. Who wants to know of it asks Connection.Outage, or is told by Options.Changed.
//
// How server and credentials of an agentless Cluster are found is up to an Authenticator.
// The list of them is explicit: Options.Authenticators, or DefaultAuthenticators. A build of
// convoy with others adds them there; see docs/kinds/cluster.md.
//
// What is kept safe: credentials stay in the transport and are in no rest.Config that
// leaves the package, no error and no log; redirects are not followed, so that they go to
// no other host than the cluster's server. A kubeconfig that would run a program or read a file on convoy's own
// host is refused. A read-only Connector refuses, before anything is sent, every request
// that could change a cluster.
//
// The package knows Clusters, not what is applied to them, and it does not retry, except
// when a busy server (429) asks for it: when to try again is the caller's to decide, by
// the error's class.
package clusterconn
