//! The registry's view of a filter.

/// Registers a filter type: its layout, the bits of a position, its names, and what it can do.
///
/// The type has `from_digests`, `table_view` and `check`, which are the same for all layouts.
macro_rules! family {
    ($filter:ty, $places:ty, $width:expr, $name:literal, $title:literal: $($capability:ident),*) => {
        impl amq::Family for $filter {
            const NAME: &'static str = $name;
            const TITLE: &'static str = $title;
            const KIND: amq::Kind = amq::Kind::Bloom;
            const R: (u32, u32) = <$places as $crate::layout::Places>::R;

            /// See [`Places::for_spec`](crate::Places::for_spec) of the layout.
            fn plan(spec: &amq::Spec) -> Result<amq::Plan, amq::SpecError> {
                <$places as $crate::layout::Places>::plan(spec, $width)
            }

            fn build(digests: &[amq::Digest], spec: &amq::Spec) -> Result<Self, amq::BuildError> {
                Self::from_digests(digests, spec)
            }

            fn table(&self) -> &[u8] {
                self.table_view()
            }

            fn check_invariants(&self) -> Result<(), amq::InvariantError> {
                self.check()
            }
        }

        amq::capabilities!($filter: $($capability),*);
    };
}
pub(crate) use family;
