// SPDX-License-Identifier: Apache-2.0

package health

// Surroundings is what an object alone does not tell, as far as its reader knows it. The
// zero value knows nothing.
type Surroundings struct {
	// VolumeBindingMode is that of the storage class of a PersistentVolumeClaim.
	VolumeBindingMode string
	// ReportsConditions says that the definition of the object's kind has a status
	// subresource and declares status.conditions: a controller is to be expected that will
	// write some, and until then nobody has looked at the object.
	ReportsConditions bool
}

// Values of VolumeBindingMode.
const (
	bindsImmediately      = "Immediate"
	waitsForFirstConsumer = "WaitForFirstConsumer"
)
