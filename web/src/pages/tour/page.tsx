import { Empty, PageHead } from "../../blocks/blocks.tsx";

const Page = () => (
  <>
    <PageHead title="tour" />
    <Empty title="Being built" />
  </>
);

export default Page;
