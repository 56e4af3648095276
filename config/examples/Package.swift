// swift-tools-version: 6.2
// A program that runs lupin within itself, with an adapter of its own.
import PackageDescription

let package = Package(
    name: "lupin-examples",
    dependencies: [.package(name: "lupin", path: "../..")],
    targets: [
        .executableTarget(
            name: "Embedded",
            dependencies: [
                .product(name: "LupinCore", package: "lupin"),
                .product(name: "LupinProxy", package: "lupin"),
            ]
        )
    ]
)
