// Package controller is Kafka's controller on ZooKeeper.
package controller
